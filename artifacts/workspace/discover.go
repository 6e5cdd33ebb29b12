package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// location describes the worktree and the repository that a directory belongs to.
type location struct {
	view     *repoView
	top      string // top directory of the worktree, spelled like the caller's path
	gitDir   string // git directory of the worktree
	common   string // common directory of the repository
	settings []setting
}

// isLinked reports whether the worktree is linked, not the main worktree.
func (p *location) isLinked() bool { return p.gitDir != p.common }

// sameDir reports whether two paths name the same existing file or directory.
func sameDir(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// source is a repository whose work is saved.
type source struct {
	location // location of the main worktree
	main     bool
	base     string // commit of the checkout; empty if unknown
	trees    []*worktree
	notes    []string
}

// worktree is a worktree whose work is saved. Until tool.updateStatus is called, only Dir and Main of Tree
// are set.
type worktree struct {
	*location
	Tree
	tree   string // the tree of HEAD, which packer.commit sets; empty before the first commit
	status []entry
	raw    []byte // output of git status
}

// worktreeAt returns the worktree at a location. Only Dir and Main of its Tree are set.
func worktreeAt(p *location) *worktree {
	return &worktree{location: p, Tree: Tree{Dir: p.top, Main: !p.isLinked()}}
}

// note adds a note for users about work that is not saved.
func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// discover returns the repositories that contain the directories. The repository of the first directory is
// the first one. Each lists its main worktree and the linked worktrees that contain some of the
// directories. discover also returns notes about worktrees that can't be saved.
func (t *tool) discover(ctx context.Context, dirs []string) ([]*source, []string, error) {
	var sources []*source
	var notes []string
	seen := map[string]bool{}
	for i, dir := range dirs {
		p, err := t.location(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		if p == nil || seen[p.gitDir] {
			continue
		}
		seen[p.gitDir] = true
		at := slices.IndexFunc(sources, func(s *source) bool { return s.common == p.common })
		if at < 0 {
			main := p
			if p.isLinked() {
				top := strings.TrimSuffix(p.common, string(filepath.Separator)+".git") // the default location of the main worktree
				if main, err = t.location(ctx, top); err != nil {
					return nil, nil, err
				}
				if main == nil || main.common != p.common || main.isLinked() { // for example, the repository is bare
					notes = append(notes, fmt.Sprintf("%s: not saved, because its repository has no main worktree", p.top))
					continue
				}
			}
			seen[main.gitDir] = true
			at, sources = len(sources), append(sources, &source{location: *main, main: i == 0, trees: []*worktree{worktreeAt(main)}})
		}
		if s := sources[at]; p.isLinked() {
			s.trees = append(s.trees, worktreeAt(p))
		}
	}
	return sources, notes, nil
}
