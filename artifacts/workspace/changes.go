package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Change is a file that a state execution changed.
type Change struct {
	Path string // path in the repository, with slashes
	What string // "added", "changed" or "deleted"
	// Diff is the part of a unified diff that starts with the first "@@"; "" for a file without lines.
	// IsCut means that the diff was longer.
	Diff     string
	IsCut    bool
	IsBinary bool // a file without lines, or with more than 1 MiB

	isTwice bool // the diff has two parts: the old entry is deleted, and an entry of another type is added
}

// maxChanges is how many changed files of a snapshot are reported.
const maxChanges = 10_000

// Changes are the files that a state execution changed.
type Changes struct {
	Files    []Change
	IsShared bool // another agent worked in the same worktree at the same time
}

// DiffLimits bound the bytes of diffs: of one file, of all files of a state execution, and in total.
type DiffLimits struct{ File, Execution, All int64 }

// Changes returns, for each state execution with a snapshot and a snapshot or commit to compare it
// with, the files of the worktree that changed, at most ten thousand. The newest executions have diffs,
// within the limits.
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

// snapshotDiff is a snapshot with its changed files.
type snapshotDiff struct {
	of    *Snapshot
	line  string // the trees before and after; the input of git, which starts its answer with the same line
	files []Change
}

// compare finds the files that changed in snapshots. It skips snapshots that can't be compared.
func (t *snapshotTool) compare(ctx context.Context, shots []Snapshot, most DiffLimits) ([]*snapshotDiff, error) {
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
	if err := parseNameStatus(string(out), all); err != nil || most.All == 0 {
		return all, err
	}
	c.in = strings.NewReader(in.String())
	return all, t.diffs(ctx, c, all, most)
}

// trees returns the trees to compare for each snapshot.
func (t *snapshotTool) trees(ctx context.Context, shots []Snapshot) ([]*snapshotDiff, error) {
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
	var all []*snapshotDiff
	for i := range shots {
		s := &shots[i]
		after, _ := parseTree(lines[2*i])
		before, isThere := parseTree(lines[2*i+1])
		// A snapshot may have no files, and a first commit no predecessor. But a predecessor that no longer
		// exists may have had any files.
		if isLost := s.After > 0 && s.from == "" || s.Base != "" && !isThere; !isLost {
			all = append(all, &snapshotDiff{of: s, line: before + " " + after + "\n"})
		}
	}
	return all, nil
}

// parseTree parses a line about a tree. A tree that doesn't exist counts as empty.
func parseTree(line string) (id string, isThere bool) {
	id, what, _ := strings.Cut(line, " ")
	if what == "tree" && isID(id) {
		return id, true
	}
	return emptyTree, false
}

var changeNames = map[string]string{"A": "added", "M": "changed", "T": "changed", "D": "deleted"}

// parseNameStatus parses the output of git diff-tree --name-status for all snapshots.
func parseNameStatus(out string, all []*snapshotDiff) error {
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
			return fmt.Errorf("git diff-tree: unknown line %.80q", out)
		}
		if c := all[next-1]; len(c.files) < maxChanges {
			c.files = append(c.files, Change{Path: path, What: changeNames[what], isTwice: what == "T"})
		}
		out = rest
	}
	return nil
}
