package workspace

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
)

// Committed is a part of what a repository has at a commit.
type Committed struct {
	Dir    string // a directory of the repository's worktree: Name is relative to it
	Commit string // the full name of the commit
	Name   string // of a file or folder
}

// Extract writes a part of a commit below to, whatever the working tree holds: the
// part named a/b becomes to/a/b. Links are left out: where they lead is not the
// commit's.
func (g *Git) Extract(ctx context.Context, c Committed, to string) error {
	if !isFullName(c.Commit) {
		return errors.New("the commit is not named in full")
	}
	t, err := g.open()
	if err != nil {
		return err
	}
	defer t.close()
	p, err := t.place(ctx, c.Dir)
	if err != nil {
		return err
	}
	if p == nil {
		return fmt.Errorf("%q is in no git worktree", c.Dir)
	}
	bare, err := t.shadow(ctx, filepath.Join(t.temp, "committed"), p.home.format, p.common)
	if err != nil {
		return err
	}
	part := part{t, bare, c.Commit, path.Join(p.prefix(c.Dir), filepath.ToSlash(c.Name))}
	entries, err := part.entries(ctx)
	if err != nil {
		return err
	}
	return part.writeOut(ctx, entries, to)
}

// prefix is where a directory lies in its worktree, "." for the top.
func (p *place) prefix(dir string) string {
	rel, err := filepath.Rel(resolved(p.top), resolved(dir))
	if err != nil {
		return "."
	}
	return filepath.ToSlash(rel)
}

// isFullName reports whether s is the full name of an object, of either format.
func isFullName(s string) bool { return isID(s, "sha1") || isID(s, "sha256") }

// Base returns the commit that a worktree was checked out at: started, which the
// remote has, where HEAD is that or was made on top of it, and else HEAD. It is ""
// where there is no commit, no repository or no git.
func (g *Git) Base(ctx context.Context, dir, started string) string {
	t, err := g.open()
	if err != nil {
		return ""
	}
	defer t.close()
	if isFullName(started) && t.run(ctx, call{dir: dir}, "merge-base", "--is-ancestor", started, "HEAD") == nil {
		return started
	}
	head, err := t.id(ctx, call{dir: dir}, "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return head
}
