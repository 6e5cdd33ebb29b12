package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// besides names repositories with work that is in none of the sources. It looks in the folders of Beside and directly
// below them.
func (t *tool) besides(ctx context.Context, sources []*source) (notes []string) {
	for _, folder := range t.of.OutsideDirs {
		dirs := []string{folder}
		entries, _ := os.ReadDir(folder) // agents may have removed the folder
		for _, e := range entries[:min(len(entries), maxNumber)] {
			if e.IsDir() && e.Name() != ".git" {
				dirs = append(dirs, filepath.Join(folder, e.Name()))
			}
		}
		for _, dir := range dirs {
			p, err := t.place(ctx, dir)
			isSaved := func(s *source) bool { return s.common == p.common }
			if err == nil && (p == nil || !sameDir(p.top, dir) || slices.ContainsFunc(sources, isSaved)) {
				continue
			}
			if err != nil || t.hasWork(ctx, p) {
				notes = append(notes, fmt.Sprintf("%s: the work in this repository is not saved, since no agent's working directory lies in it", dir))
			}
		}
	}
	return notes
}

// hasWork reports whether a worktree has changes, or a commit that is not at origin. A worktree that git can't read may have.
func (t *tool) hasWork(ctx context.Context, p *place) bool {
	wt, err := t.lookAt(ctx, p)
	if err != nil || len(wt.status) > 0 {
		return true
	}
	at, err := t.refs(ctx, p)
	return err != nil || wt.Head != "" && !slices.Contains(at.remote, wt.Head)
}

// noteSubmodules names the submodules with work, except those that are saved or that the status of
// the worktree lists.
func (w *saver) noteSubmodules(ctx context.Context, s *source, wt *worktree) error {
	if _, err := os.Stat(filepath.Join(s.common, "modules")); err != nil {
		return nil
	}
	changed, err := w.git.changedSubmodules(ctx, wt.Dir)
	for _, path := range changed {
		if !slices.Contains(pathsOf(wt.status), path) && !w.git.isSaved(filepath.Join(wt.Dir, filepath.FromSlash(path))) {
			s.note("%s: the work in submodule %q is not saved, since no agent's working directory lies in it", wt.Dir, path)
		}
	}
	return err
}

// isSaved reports whether a folder is the top of a worktree that is saved.
func (t *tool) isSaved(dir string) bool {
	return slices.ContainsFunc(t.tops, func(top string) bool { return sameDir(top, dir) })
}
