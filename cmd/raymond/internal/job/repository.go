package job

import (
	"context"

	"github.com/google/go-github/v60/github"
)

// Private reports whether the repository is private, for events that don't say.
// The token needs no permission for it beyond metadata, which each has.
func (g *GitHub) Private(ctx context.Context) (bool, error) {
	private := false
	err := g.try(ctx, func(ctx context.Context) (*github.Response, error) {
		repo, resp, err := g.gh.Repositories.Get(ctx, g.owner, g.repo)
		private = repo.GetPrivate()
		return resp, err
	})
	return private, err
}
