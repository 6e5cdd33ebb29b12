package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// plan plans the changes to the branches of a repository, and compares every worktree with its saved state and
// plans the changes to it. The error is a *Conflict if commits would be lost, or if files in a worktree are in the
// way.
func (w *restorer) plan(ctx context.Context, p *plan) error {
	if err := w.planBranches(ctx, p); err != nil {
		return err
	}
	listings, err := w.readListings(ctx, p)
	if err != nil {
		return err
	}
	for i, saved := range p.saved.Trees {
		t := &treePlan{saved: saved, dir: w.Dir(saved.Dir), want: listings[i]}
		p.trees = append(p.trees, t)
		if !saved.Main {
			here, err := w.git.location(ctx, t.dir)
			if err != nil {
				return err
			}
			if here == nil || !sameDir(here.top, t.dir) || here.common != p.common || !here.isLinked() {
				t.isNew = true
				if err := checkVacant(t.dir); err != nil {
					return err
				}
			}
		}
		if err := w.compare(ctx, t); err != nil {
			return err
		}
		if len(t.inTheWay) > 0 {
			slices.Sort(t.inTheWay)
			return &Conflict{Dir: t.dir, What: "changes of the checkout are in the way of the saved work", Files: slices.Compact(t.inTheWay)}
		}
		if err := w.checkFileSizes(ctx, p, t); err != nil {
			return fmt.Errorf("restore %s: %w", t.dir, err)
		}
	}
	return nil
}

// compare compares a worktree with its saved state. It adds to the plan which files to write, which to
// remove, and which are in the way.
func (w *restorer) compare(ctx context.Context, t *treePlan) error {
	if t.isNew {
		t.was.Head = t.saved.Head
		for p, want := range t.want.work {
			if want.mode != modeSub { // submodules are saved separately
				t.write = append(t.write, p)
			}
		}
		slices.Sort(t.write)
		return nil
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c := &comparison{treePlan: t, root: root, staged: map[string]bool{}, changed: map[string]bool{}}
	here, err := w.git.worktree(ctx, t.dir)
	if err != nil {
		return err
	}
	wt, err := w.git.readStatus(ctx, here)
	if err != nil {
		return err
	}
	t.was = wt.Tree
	for _, e := range wt.status {
		c.staged[e.path] = e.kind == 'u' || e.kind == '1' && e.staged != '.'
		c.changed[e.path] = e.kind == 'u' || e.kind == '1' && e.changed != '.'
	}
	if t.now, err = w.git.indexOf(ctx, t.dir); err != nil {
		return err
	}
	all := map[string]bool{} // paths in the index or in the saved files
	for p := range c.want.work {
		all[p] = true
	}
	for at := range c.now {
		all[at.path] = true
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if err := c.comparePath(p); err != nil {
			return err
		}
	}
	return c.checkRoom()
}

// indexOf returns the index entries of a worktree, by path and stage.
func (t *tool) indexOf(ctx context.Context, dir string) (map[slot]item, error) {
	out, err := t.output(ctx, call{dir: dir}, "ls-files", "--stage", "-z")
	all := map[slot]item{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		what, path, _ := strings.Cut(line, "\t")
		if f := strings.Fields(what); len(f) == 3 {
			all[slot{path, int(f[2][0] - '0')}] = item{f[0], f[1]}
		}
	}
	return all, err
}

// comparison compares a worktree with its saved state.
type comparison struct {
	*treePlan
	root    *os.Root
	staged  map[string]bool // paths whose index entry differs from HEAD
	changed map[string]bool // paths whose file differs from the index
}

// comparePath adds the change to one path to the plan.
func (c *comparison) comparePath(p string) error {
	want, wanted := c.want.work[p]
	have, tracked := c.now[slot{p, 0}]
	clean := tracked && !c.changed[p]
	switch {
	case c.staged[p] && c.hasOtherEntry(p):
		c.inTheWay = append(c.inTheWay, p)
		return nil
	case want.mode == modeSub || !wanted && have.mode == modeSub:
		return nil // submodules are saved separately
	case clean && wanted && c.isSaved(p, have):
		return nil
	case clean && !wanted:
		c.remove = append(c.remove, p)
		return nil
	}
	// The file must be replaced, or it differs from the index.
	found, err := itemOnDisk(c.root, p)
	if err != nil {
		return err
	}
	switch {
	case found == want: // there is nothing to do; both are zero if the file is neither saved nor on disk
	case found.mode == modeDir && !wanted: // a directory has replaced the file, so there is nothing to remove
	case wanted && (found == item{} || found.mode == modeDir), clean: // if p is a directory, checkRoom checks the files in it
		c.write = append(c.write, p)
	default:
		c.inTheWay = append(c.inTheWay, p)
	}
	return nil
}

// isSaved reports whether the saved file and the saved index entry of a path are the given item.
func (c *comparison) isSaved(p string, have item) bool {
	return c.want.work[p] == have && c.want.index[slot{p, 0}] == have
}

// hasOtherEntry reports whether the index has an entry at a path that differs from the saved one. A
// missing entry doesn't count, because a restore then overwrites nothing.
func (c *comparison) hasOtherEntry(p string) bool {
	for stage := range 4 {
		at := slot{p, stage}
		if have, is := c.now[at]; is && have != c.want.index[at] {
			return true
		}
	}
	return false
}

// checkRoom checks the paths of the files to write. If the path of a needed directory is a file, or the
// path of a file is a directory with files, it adds these files to the files in the way. Files that the
// restore will remove don't count.
func (c *comparison) checkRoom() error {
	gone := map[string]bool{}
	for _, p := range c.remove {
		gone[p] = true
	}
	for _, p := range c.write {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			info, err := c.root.Lstat(dir)
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err):
				return err
			case err == nil && !info.IsDir() && !gone[dir]:
				c.inTheWay = append(c.inTheWay, dir)
			}
		}
		info, err := c.root.Lstat(p)
		if err != nil || !info.IsDir() {
			continue // p is not a directory, so comparePath has checked it
		}
		top := c.root.Name()
		err = filepath.WalkDir(filepath.Join(top, filepath.FromSlash(p)), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(top, name)
			if rel = filepath.ToSlash(rel); err == nil && !gone[rel] {
				c.inTheWay = append(c.inTheWay, rel)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
