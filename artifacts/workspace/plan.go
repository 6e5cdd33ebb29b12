package workspace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// planBranches finds the branches that have to be moved. One with commits that would
// be lost is a *Conflict, and so is one that another can't be made beside, as feat and feat/x.
func (w *restorer) planBranches(ctx context.Context, p *plan) error {
	now, within := map[string]string{}, map[string]string{} // within: a branch in a folder of the refs
	for _, b := range p.at.branches {
		now[b.Name] = b.ID
		for dir := path.Dir(b.Name); dir != "."; dir = path.Dir(dir) {
			within[dir] = b.Name
		}
	}
	for _, b := range p.saved.Branches {
		other := within[b.Name]
		for dir := path.Dir(b.Name); dir != "."; dir = path.Dir(dir) {
			if now[dir] != "" {
				other = dir
			}
		}
		if other != "" {
			return &Conflict{Dir: p.dir, What: fmt.Sprintf("branch %q is in the way of the saved branch %q", other, b.Name)}
		}
		if now[b.Name] != b.ID {
			p.moves = append(p.moves, move{"refs/heads/" + b.Name, cmp.Or(now[b.Name], nullID), b.ID})
		}
	}
	for _, m := range p.moves {
		if m.from == nullID {
			continue
		}
		if err := w.checkMove(ctx, p, m); err != nil {
			return err
		}
	}
	return nil
}

// checkMove returns a *Conflict when a branch has commits that are neither in the
// saved work nor at the remote nor in what was checked out here.
func (w *restorer) checkMove(ctx context.Context, p *plan, m move) error {
	in := lines(m.from) + without(append([]string{p.saved.Save}, p.at.remote...))
	head, err := w.git.id(ctx, call{dir: p.dir}, "HEAD")
	if err != nil && !exited(err, 1) {
		return err
	}
	if head != "" {
		in += without([]string{head})
	}
	out, err := w.git.output(ctx, call{dir: p.common, bare: p.common, in: strings.NewReader(in)}, "rev-list", "--max-count=1", "--stdin")
	if err != nil {
		return err
	}
	if len(out) > 0 {
		return &Conflict{Dir: p.dir, What: fmt.Sprintf("branch %q has commits that the saved work does not have (%s)",
			strings.TrimPrefix(m.name, "refs/heads/"), strings.TrimSpace(string(out)))}
	}
	return nil
}

// treePlan is what is to be done to one worktree.
type treePlan struct {
	saved Tree
	dir   string // here
	isNew bool   // it has to be made
	was   Tree   // where HEAD is; of one that has to be made, at the saved commit
	want  *listing

	now      map[slot]item // the index as it is
	write    []string      // files, by path
	remove   []string
	inTheWay []string
}

// listing is what the commit of a save has of one worktree.
type listing struct {
	index map[slot]item
	work  map[string]item
}

// maxPaths is how many paths the commit of a save may have, of files and in indexes.
const maxPaths = 2 << 20

// list reads the commit of a save.
func (w *restorer) list(ctx context.Context, p *plan) ([]*listing, error) {
	all := make([]*listing, len(p.saved.Trees))
	for i := range all {
		all[i] = &listing{map[slot]item{}, map[string]item{}}
	}
	out, err := w.git.output(ctx, call{dir: p.common, bare: p.common}, "ls-tree", "-r", "-z", "--full-tree", p.saved.Save)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(out, []byte{0}); n > maxPaths {
		return nil, fmt.Errorf("the saved work has %d paths, want %d at most", n, maxPaths)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		what, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(what)
		n, rest, _ := strings.Cut(path, "/")
		i, ok := number(n, len(all))
		if len(f) != 3 || !ok || !all[i].add(rest, item{f[0], f[2]}) {
			return nil, fmt.Errorf("%q has no place in a save", path)
		}
	}
	return all, nil
}

// number reads the number of a worktree.
func number(s string, n int) (int, bool) {
	i, err := strconv.Atoi(s)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == s
}

// add reports whether there is a place for an entry.
func (l *listing) add(path string, it item) bool {
	part, path, _ := strings.Cut(path, "/")
	stage := 0
	if part == stagePart {
		n, rest, _ := strings.Cut(path, "/")
		if i, ok := number(n, 4); ok {
			stage, path = i, rest
		}
	}
	switch {
	case !isPlainPath(path):
		return false
	case part == workPart:
		l.work[path] = it
	case part == indexPart, stage > 0:
		l.index[slot{path, stage}] = it
	default:
		return false
	}
	return true
}

// isPlainPath reports whether a path stays in its worktree and out of git's own
// folder. Git has checked that before; nothing is written on its word alone.
func isPlainPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		plain := strings.ToLower(strings.TrimRight(name, ". "))
		if plain == "" || plain == ".git" || plain == "git~1" || strings.ContainsRune(name, 0) {
			return false
		}
	}
	return path != ""
}
