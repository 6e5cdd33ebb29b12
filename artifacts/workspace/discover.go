package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is where a directory lies in git.
type place struct {
	home     *home
	top      string // of the worktree, as the caller writes it
	gitDir   string // of the worktree
	common   string // what all worktrees of the repository share
	settings []setting
}

func (p *place) linked() bool { return p.gitDir != p.common }

// spell takes the top from the directory that was asked for where it can: the machine
// that restores knows the paths as they are written, and not what links stand for.
func (p *place) spell(dir, inside string) {
	written, ok := strings.CutSuffix(filepath.Clean(dir), strings.TrimPrefix(inside, p.top))
	if written == "" {
		written = string(filepath.Separator)
	}
	if ok && sameDir(written, p.top) {
		p.top = written
	}
}

func sameDir(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// source is a repository to save.
type source struct {
	place // of its main worktree
	main  bool
	base  string // the commit of the checkout, "" when it is unknown here
	trees []*worktree
	notes []string
}

// worktree is a tree to save. Of its Tree the directory is known before look.
type worktree struct {
	*place
	Tree
	tree   string // that of HEAD, "" for none; known to those that write a commit
	status []entry
	raw    []byte // what git said of the status
}

func worktreeAt(p *place) *worktree {
	return &worktree{place: p, Tree: Tree{Dir: p.top, Main: !p.linked()}}
}

func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// discover returns the repositories that the directories lie in, that of the first
// directory before the others, and in each the main worktree and every one that holds
// a directory.
func (t *tool) discover(ctx context.Context, dirs []string) ([]*source, []string, error) {
	var sources []*source
	var notes []string
	seen := map[string]bool{}
	for i, dir := range dirs {
		p, err := t.place(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		if p == nil || seen[p.gitDir] {
			continue
		}
		seen[p.gitDir] = true
		at := slices.IndexFunc(sources, func(s *source) bool { return s.common == p.common })
		if at < 0 {
			s, err := t.source(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			if s == nil {
				notes = append(notes, fmt.Sprintf("%s: it belongs to a repository without a worktree of its own, and is not saved", p.top))
				continue
			}
			s.main = i == 0
			seen[s.gitDir] = true
			at, sources = len(sources), append(sources, s)
		}
		if s := sources[at]; p.linked() {
			s.trees = append(s.trees, worktreeAt(p))
		}
	}
	return sources, notes, nil
}

// source finds the main worktree of the repository that a place is in; nil when it
// has none.
func (t *tool) source(ctx context.Context, p *place) (*source, error) {
	main := p
	if p.linked() {
		var err error
		top := strings.TrimSuffix(p.common, string(filepath.Separator)+".git") // where git takes it to be
		if main, err = t.place(ctx, top); err != nil {
			return nil, err
		}
		if main == nil || main.common != p.common || main.linked() {
			return nil, nil
		}
	}
	return &source{place: *main, trees: []*worktree{worktreeAt(main)}}, nil
}
