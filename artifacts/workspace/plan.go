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

// planBranches plans which branches to create or to set to another commit. The error is a *Conflict if
// commits would be lost, or if a branch can't exist next to another one, like feat next to feat/x.
func (w *restorer) planBranches(ctx context.Context, p *plan) error {
	now, within := map[string]string{}, map[string]string{} // within maps a directory of refs to a branch in it
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
			p.moves = append(p.moves, refUpdate{"refs/heads/" + b.Name, cmp.Or(now[b.Name], nullID), b.ID})
		}
	}
	for _, m := range p.moves {
		if m.from == nullID {
			continue
		}
		// Setting the branch to another commit would lose commits that are not in the save, not in a ref of origin, and
		// not in the history of HEAD.
		in := lines(m.from) + excluding(append([]string{p.saved.Save}, p.at.remote...))
		head, err := w.git.id(ctx, call{dir: p.dir}, "HEAD")
		if err != nil && !exitedWith(err, 1) {
			return err
		}
		if head != "" {
			in += excluding([]string{head})
		}
		out, err := w.git.output(ctx, call{dir: p.common, bare: p.common, in: strings.NewReader(in)}, "rev-list", "--max-count=1", "--stdin")
		if err != nil {
			return err
		}
		if len(out) > 0 {
			return &Conflict{Dir: p.dir, What: fmt.Sprintf("branch %q has commits that the saved work does not have (%s)",
				strings.TrimPrefix(m.name, "refs/heads/"), strings.TrimSpace(string(out)))}
		}
	}
	return nil
}

// treePlan describes the planned changes to one worktree.
type treePlan struct {
	saved Tree
	dir   string // top directory on this machine
	isNew bool   // the worktree must be created
	was   Tree   // the current branch and HEAD; for a new worktree, Head is the saved commit
	want  *listing

	now      map[slot]item // the current index
	write    []string      // paths of the files to write
	remove   []string
	inTheWay []string
}

// listing lists the index and the files of one worktree in the commit of a save.
type listing struct {
	index map[slot]item
	work  map[string]item
}

// maxPaths is the maximum number of paths in the commit of a save, counting files and index entries.
const maxPaths = 2 << 20

// readListings reads the commit of a save and returns a listing for each worktree.
func (w *restorer) readListings(ctx context.Context, p *plan) ([]*listing, error) {
	all := make([]*listing, len(p.saved.Trees))
	for i := range all {
		all[i] = &listing{map[slot]item{}, map[string]item{}}
	}
	out, err := w.git.output(ctx, call{dir: p.common, bare: p.common}, "ls-tree", "-r", "-z", "--full-tree", p.saved.Save)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(out, []byte{0}); n > maxPaths {
		return nil, fmt.Errorf("the saved work has %d paths, but at most %d are allowed", n, maxPaths)
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
			return nil, fmt.Errorf("%q is not a valid path in a save", path)
		}
	}
	return all, nil
}

// number parses the number of a worktree or of a merge stage. The number must be less than n.
func number(s string, n int) (int, bool) {
	i, err := strconv.Atoi(s)
	return i, err == nil && i >= 0 && i < n && strconv.Itoa(i) == s
}

// add adds the entry at a path in the commit's tree. It returns false if the path is invalid.
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

// isPlainPath reports whether a path stays within its worktree and outside of .git. Git checks this too,
// but a restore doesn't rely on git's check.
func isPlainPath(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		plain := strings.ToLower(strings.TrimRight(name, ". "))
		if plain == "" || plain == ".git" || plain == "git~1" || strings.ContainsRune(name, 0) {
			return false
		}
	}
	return path != ""
}
