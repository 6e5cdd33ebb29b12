package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

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
