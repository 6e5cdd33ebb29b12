package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Change is a file that a state execution has changed.
type Change struct {
	Path string // in the repository, with slashes
	What string // "added", "changed" or "deleted"
	// Diff is what a unified diff has of it from its first "@@" on; of what has no lines
	// it is "". IsCut says that it is longer.
	Diff     string
	IsCut    bool
	IsBinary bool // it has no lines, or more than a MiB

	isTwice bool // the diff has it twice: what was there is deleted, and something else is added
}

// maxChanges is how many files of a snapshot are told.
const maxChanges = 10_000

// Changes are the files that a state execution has changed.
type Changes struct {
	Files    []Change
	IsShared bool // another agent worked there meanwhile
}

// DiffLimits bounds diffs, in bytes: of one file, of all files of a state execution, and in all.
type DiffLimits struct{ File, Execution, All int64 }

// Changes returns, for each state execution of which there is a snapshot and something to
// compare it with, the files of the worktree that are not as they were at the snapshot
// before, at most ten thousand. Those of the newest have diffs, as far as there is room.
func (s *Snapshots) Changes(ctx context.Context, most DiffLimits) (map[int]Changes, error) {
	t, err := s.open()
	if t == nil {
		return nil, err
	}
	defer t.git.close()
	all, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one Snapshot) bool { return one.IsStart })
	slices.Reverse(all)
	found, err := t.compare(ctx, all, most)
	if err != nil {
		return nil, err
	}
	changes := map[int]Changes{}
	for _, c := range found {
		changes[c.of.Exec] = Changes{c.files, c.of.IsShared}
	}
	return changes, nil
}

// compared is a snapshot with what it is compared with.
type compared struct {
	of    *Snapshot
	line  string // the trees with the files before and after: git reads it, and begins its answer with it
	files []Change
}

// compare finds what snapshots have changed. Those that can't be compared are left out.
func (t *shotTool) compare(ctx context.Context, shots []Snapshot, most DiffLimits) ([]*compared, error) {
	all, err := t.trees(ctx, shots)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var in strings.Builder
	for _, c := range all {
		in.WriteString(c.line)
	}
	c := t.call()
	c.in = strings.NewReader(in.String())
	out, err := t.git.output(ctx, c, "diff-tree", "--stdin", "-r", "-z", "--no-renames", "--name-status")
	if err != nil {
		return nil, err
	}
	if err := readNames(string(out), all); err != nil || most.All == 0 {
		return all, err
	}
	c.in = strings.NewReader(in.String())
	return all, t.diffs(ctx, c, all, most)
}

// trees finds the trees of snapshots.
func (t *shotTool) trees(ctx context.Context, shots []Snapshot) ([]*compared, error) {
	var names []string
	for _, s := range shots {
		before := s.from + ":0/work"
		if s.from == "" {
			before = s.Base + "^{tree}"
		}
		names = append(names, s.commit+":0/work", before)
	}
	lines, err := t.git.objects(ctx, t.call(), "%(objectname) %(objecttype)", names)
	if err != nil {
		return nil, err
	}
	var all []*compared
	for i := range shots {
		s := &shots[i]
		after, _ := treeOf(lines[2*i])
		before, isThere := treeOf(lines[2*i+1])
		// A snapshot, and the beginning of a repository, may have no files; a commit that is
		// no longer there may have had any.
		if isLost := s.After > 0 && s.from == "" || s.Base != "" && !isThere; !isLost {
			all = append(all, &compared{of: s, line: before + " " + after + "\n"})
		}
	}
	return all, nil
}

// treeOf reads what git says of a tree. One that isn't there is empty.
func treeOf(line string) (id string, isThere bool) {
	id, what, _ := strings.Cut(line, " ")
	if what == "tree" && isID(id) {
		return id, true
	}
	return emptyTree, false
}

var changeNames = map[string]string{"A": "added", "M": "changed", "T": "changed", "D": "deleted"}

// readNames reads what git says of the files of all snapshots.
func readNames(out string, all []*compared) error {
	next := 0
	for out != "" {
		if next < len(all) && strings.HasPrefix(out, all[next].line) {
			out = out[len(all[next].line):]
			next++
			continue
		}
		what, rest, _ := strings.Cut(out, "\x00")
		path, rest, ok := strings.Cut(rest, "\x00")
		if !ok || next == 0 || changeNames[what] == "" {
			return fmt.Errorf("git diff-tree: %.80q is unknown", out)
		}
		if c := all[next-1]; len(c.files) < maxChanges {
			c.files = append(c.files, Change{Path: path, What: changeNames[what], isTwice: what == "T"})
		}
		out = rest
	}
	return nil
}
