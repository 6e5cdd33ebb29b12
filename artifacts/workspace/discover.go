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

// unsavedRepositories returns a note for each repository with work that is not saved, because the repository is
// not in sources. It searches OutsideDirs and the directories directly below them.
func (t *tool) unsavedRepositories(ctx context.Context, sources []*source) (notes []string) {
	for _, folder := range t.opts.OutsideDirs {
		dirs := []string{folder}
		entries, _ := os.ReadDir(folder) // an agent may have removed the directory
		for _, e := range entries[:min(len(entries), maxNumber)] {
			if e.IsDir() && e.Name() != ".git" {
				dirs = append(dirs, filepath.Join(folder, e.Name()))
			}
		}
		for _, dir := range dirs {
			p, err := t.location(ctx, dir)
			isSaved := func(s *source) bool { return s.common == p.common }
			if err == nil && (p == nil || !sameDir(p.top, dir) || slices.ContainsFunc(sources, isSaved)) {
				continue
			}
			if err != nil || t.hasWork(ctx, p) {
				notes = append(notes, fmt.Sprintf("%s: the work in this repository is not saved, because no agent's working directory is in it", dir))
			}
		}
	}
	return notes
}

// hasWork reports whether a worktree has changes, or a HEAD that no ref of origin points to. If git can't read
// the worktree, it returns true.
func (t *tool) hasWork(ctx context.Context, p *location) bool {
	wt, err := t.readStatus(ctx, p)
	if err != nil || len(wt.status) > 0 {
		return true
	}
	at, err := t.refs(ctx, p)
	return err != nil || wt.Head != "" && !slices.Contains(at.remote, wt.Head)
}

// noteSubmodules adds a note for each submodule with work that is not saved. It skips submodules in the
// status of the worktree, for which writeFile adds a note.
func (w *saver) noteSubmodules(ctx context.Context, s *source, wt *worktree) error {
	if _, err := os.Stat(filepath.Join(s.common, "modules")); err != nil {
		return nil
	}
	changed, err := w.git.changedSubmodules(ctx, wt.Dir)
	for _, path := range changed {
		if !slices.Contains(pathsOf(wt.status), path) && !w.git.isSaved(filepath.Join(wt.Dir, filepath.FromSlash(path))) {
			s.note("%s: the work in submodule %q is not saved, because no agent's working directory is in it", wt.Dir, path)
		}
	}
	return err
}

// isSaved reports whether a directory is the top directory of a worktree that is saved.
func (t *tool) isSaved(dir string) bool {
	return slices.ContainsFunc(t.tops, func(top string) bool { return sameDir(top, dir) })
}
