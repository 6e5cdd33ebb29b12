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

// planTrees compares every worktree with what it should be.
func (w *restorer) planTrees(ctx context.Context, p *plan) error {
	listings, err := w.list(ctx, p)
	if err != nil {
		return err
	}
	for i, saved := range p.saved.Trees {
		t := &treePlan{saved: saved, dir: w.Dir(saved.Dir), want: listings[i]}
		p.trees = append(p.trees, t)
		if t.isNew, err = w.isNewTree(ctx, p, t); err != nil {
			return err
		}
		if err := w.compare(ctx, t); err != nil {
			return err
		}
		if len(t.inTheWay) > 0 {
			slices.Sort(t.inTheWay)
			return &Conflict{Dir: t.dir, What: "changes of the checkout are in the way of the saved work", Files: slices.Compact(t.inTheWay)}
		}
		if err := w.weighFiles(ctx, p, t); err != nil {
			return fmt.Errorf("restore %s: %w", t.dir, err)
		}
	}
	return nil
}

// isNewTree reports whether a worktree still has to be made.
func (w *restorer) isNewTree(ctx context.Context, p *plan, t *treePlan) (bool, error) {
	if t.saved.Main {
		return false, nil
	}
	here, err := w.git.place(ctx, t.dir)
	if err != nil {
		return false, err
	}
	if here != nil && sameDir(here.top, t.dir) && here.common == p.common && here.linked() {
		return false, nil
	}
	return true, vacant(t.dir)
}

// compare finds what is to be written and removed, and what is in the way.
func (w *restorer) compare(ctx context.Context, t *treePlan) error {
	if t.isNew {
		for p, want := range t.want.work {
			if want.mode != modeSub { // what is in a submodule is its own
				t.write = append(t.write, p)
			}
		}
		slices.Sort(t.write)
		return nil
	}
	if err := w.readTree(ctx, t); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	filters, err := w.git.filtered(ctx, t.dir, slices.Collect(maps.Keys(t.changed)))
	if err != nil {
		return err
	}
	c := &comparison{tree: t, disk: newDisk(root), filters: filters}
	for _, p := range c.paths() {
		if err := c.path(p); err != nil {
			return err
		}
	}
	return c.room()
}

// readTree reads the index and the status of a worktree.
func (w *restorer) readTree(ctx context.Context, t *treePlan) error {
	entries, _, err := w.git.status(ctx, t.dir)
	if err != nil {
		return err
	}
	t.staged, t.changed = map[string]*entry{}, map[string]*entry{}
	for i := range entries {
		e := &entries[i]
		if e.kind == 'u' || e.kind == '1' && e.staged != '.' {
			t.staged[e.path] = e
		}
		if e.kind == 'u' || e.kind == '1' && e.changed != '.' {
			t.changed[e.path] = e
		}
	}
	return w.git.readIndexOf(ctx, t)
}

func (t *tool) readIndexOf(ctx context.Context, p *treePlan) error {
	out, err := t.output(ctx, call{dir: p.dir}, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	p.now, p.stages = map[string]item{}, map[string][3]item{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		what, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(what)
		if !ok || len(f) != 3 {
			continue
		}
		if f[2] == "0" {
			p.now[path] = item{f[0], f[1]}
			continue
		}
		s := p.stages[path]
		s[f[2][0]-'1'] = item{f[0], f[1]}
		p.stages[path] = s
	}
	return nil
}

// comparison compares a worktree with what it should be.
type comparison struct {
	tree    *treePlan
	disk    *disk
	filters map[string]string
}

// paths returns every path that is in the index or should be a file.
func (c *comparison) paths() []string {
	all := map[string]bool{}
	for p := range c.tree.want.work {
		all[p] = true
	}
	for p := range c.tree.now {
		all[p] = true
	}
	for p := range c.tree.stages {
		all[p] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (c *comparison) path(p string) error {
	want, wanted := c.tree.want.work[p]
	have, tracked := c.tree.now[p]
	clean := tracked && c.tree.changed[p] == nil
	if c.foreignStage(p) {
		c.tree.inTheWay = append(c.tree.inTheWay, p)
		return nil
	}
	switch {
	case want.mode == modeSub || !wanted && have.mode == modeSub:
		return nil // what is in a submodule is its own
	case clean && wanted && want == have && c.tree.want.index[p] == have:
		return nil
	case clean && !wanted:
		c.tree.remove = append(c.tree.remove, p)
		return nil
	}
	return c.file(p, clean)
}

// foreignStage reports whether the index has an entry at a path that is neither what
// the checkout's commit has nor what it should be. An entry that is missing loses
// nothing.
func (c *comparison) foreignStage(p string) bool {
	e := c.tree.staged[p]
	if e == nil {
		return false
	}
	if e.kind == 'u' {
		return c.tree.want.stages[p] != c.tree.stages[p]
	}
	have, tracked := c.tree.now[p]
	return tracked && have != c.tree.want.index[p]
}

// file looks at a file that has to be replaced, or is not as the index has it.
func (c *comparison) file(p string, clean bool) error {
	want, wanted := c.tree.want.work[p]
	have, err := c.disk.at(p)
	if err != nil {
		return err
	}
	switch {
	case have == want: // also when there should be none, and there is none
	case have.mode == modeDir && !wanted: // the file is gone
	case have == (item{}) && wanted, clean:
		c.tree.write = append(c.tree.write, p)
	case have.mode == modeDir && wanted: // what is in it is looked at later
		c.tree.write = append(c.tree.write, p)
	case c.filters[p] != "" && want == c.tree.now[p] && want == c.tree.want.index[p]:
		// It looks changed because its filter was not run.
	default:
		c.tree.inTheWay = append(c.tree.inTheWay, p)
	}
	return nil
}

// room checks that nothing but what is going to be removed is where folders and files
// have to be.
func (c *comparison) room() error {
	gone := map[string]bool{}
	for _, p := range c.tree.remove {
		gone[p] = true
	}
	for _, p := range c.tree.write {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			info, err := c.disk.root.Lstat(dir)
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err):
				return err
			case err == nil && !info.IsDir() && !gone[dir]:
				c.tree.inTheWay = append(c.tree.inTheWay, dir)
			}
		}
		if err := c.inside(p, gone); err != nil {
			return err
		}
	}
	return nil
}

// inside names the files in a folder that has to give way to a file.
func (c *comparison) inside(p string, gone map[string]bool) error {
	info, err := c.disk.root.Lstat(p)
	if err != nil || !info.IsDir() {
		return nil // nothing is there, or something that was looked at before
	}
	top := c.disk.root.Name()
	return filepath.WalkDir(filepath.Join(top, filepath.FromSlash(p)), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if rel = filepath.ToSlash(rel); err == nil && !gone[rel] {
			c.tree.inTheWay = append(c.tree.inTheWay, rel)
		}
		return err
	})
}
