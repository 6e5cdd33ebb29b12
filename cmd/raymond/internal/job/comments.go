package job

import (
	"context"
	"time"
)

// Comments are the comments on one issue or pull request, and ours among them.
type Comments struct {
	*GitHub
	number int
}

// Comments returns the comments on the issue or pull request of that number.
func (g *GitHub) Comments(number int) *Comments { return &Comments{g, number} }

// List returns the comments, the oldest first. Of an issue with very many it leaves out some in the
// middle.
func (c *Comments) List(ctx context.Context) ([]Remark, error) {
	return c.pages(ctx, func(page int) ([]Remark, int, error) { return c.comments(ctx, c.number, time.Time{}, page) })
}

// Create adds a comment.
func (c *Comments) Create(ctx context.Context, body string) (Remark, error) {
	return c.Say(ctx, c.number, body)
}
