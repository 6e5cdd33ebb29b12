package workspace

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Change is a file that a state execution changed.
type Change struct {
	Path string // path in the repository, with slashes
	What string // "added", "changed" or "deleted"
	// Diff is the part of a unified diff that starts with the first "@@". It is empty for a file without
	// lines. IsCut means that Diff is not the complete diff.
	Diff     string
	IsCut    bool
	IsBinary bool // the file is not text, or has more than 1 MiB

	isTwice bool // git prints two diffs, because the type changed: the old entry is deleted, and another one is added
}

// maxChanges is the maximum number of changed files that are reported for a snapshot.
const maxChanges = 10_000

// Changes are the files that a state execution changed.
type Changes struct {
	Files    []Change
	IsShared bool // another agent worked in the same worktree at the same time
}

// DiffLimits are the maximum sizes of diffs in bytes: for one file, for all files of one state execution,
// and in total.
type DiffLimits struct{ File, Execution, All int64 }

// Changes returns the files that state executions changed in the worktree, by the number of the
// execution. It omits executions without a snapshot, and executions whose snapshot can't be compared with
// a previous snapshot or a commit. For each execution it lists at most ten thousand files. Newer
// executions get their diffs before older ones, until a limit is reached.
func (s *Snapshots) Changes(ctx context.Context, most DiffLimits) (map[int]Changes, error) {
	t, err := s.open()
	if t == nil {
		return nil, err
	}
	defer t.git.close()
	shots, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	shots = slices.DeleteFunc(shots, func(one Snapshot) bool { return one.IsStart })
	slices.Reverse(shots)
	var names []string // for each snapshot, its tree and the tree to compare it with
	for _, shot := range shots {
		before := shot.from + ":0/work"
		if shot.from == "" {
			before = shot.Base + "^{tree}"
		}
		names = append(names, shot.commit+":0/work", before)
	}
	lines, err := t.git.objects(ctx, t.call(), "%(objectname) %(objecttype)", names)
	if err != nil {
		return nil, err
	}
	var found []*snapshotDiff
	var in strings.Builder
	for i := range shots {
		shot := &shots[i]
		after, _ := parseTree(lines[2*i])
		before, isThere := parseTree(lines[2*i+1])
		// A snapshot may contain no files, and a first commit has no predecessor: these trees are empty. If
		// the predecessor no longer exists, its files are unknown, and the snapshot is skipped.
		if isLost := shot.After > 0 && shot.from == "" || shot.Base != "" && !isThere; !isLost {
			found = append(found, &snapshotDiff{of: shot, line: before + " " + after + "\n"})
			in.WriteString(before + " " + after + "\n")
		}
	}
	changes, c := map[int]Changes{}, t.call()
	if len(found) == 0 {
		return changes, nil
	}
	c.in = strings.NewReader(in.String())
	out, err := t.git.output(ctx, c, "diff-tree", "--stdin", "-r", "-z", "--no-renames", "--name-status")
	if err != nil {
		return nil, err
	}
	if err := parseNameStatus(string(out), found); err != nil {
		return nil, err
	}
	if most.All != 0 {
		c.in = strings.NewReader(in.String())
		if err := t.diffs(ctx, c, found, most); err != nil {
			return nil, err
		}
	}
	for _, c := range found {
		changes[c.of.Exec] = Changes{c.files, c.of.IsShared}
	}
	return changes, nil
}

// snapshotDiff is a snapshot with its changed files.
type snapshotDiff struct {
	of    *Snapshot
	line  string // the trees before and after, as input for git diff-tree, whose output begins with the same line
	files []Change
}

// parseTree parses a line of git cat-file about a tree. If the tree doesn't exist, it returns the id of
// the empty tree, and false.
func parseTree(line string) (id string, isThere bool) {
	id, what, _ := strings.Cut(line, " ")
	if what == "tree" && isID(id) {
		return id, true
	}
	return emptyTree, false
}

// changeNames are the values of Change.What, by git's status letters.
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

// diffFactor times the total limit is the maximum number of bytes of diffs that are read from git.
const diffFactor = 8

// diffs adds diffs to the changed files until a limit is reached. Git writes the diffs in the order of
// the snapshots and their files.
func (t *snapshotTool) diffs(ctx context.Context, c call, found []*snapshotDiff, most DiffLimits) error {
	c.settings = []setting{{"core.bigFileThreshold", "1m"}}
	var all bytes.Buffer
	out := &limitedWriter{w: &all, left: diffFactor * most.All}
	c.out = out
	err := t.git.run(ctx, c, "diff-tree", "--stdin", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=3")
	if err != nil && !out.full {
		return err
	}
	text := all.String()
	for i, one := range found {
		own := strings.TrimPrefix(text, one.line)
		// The line of the next snapshot ends the diffs of this one. No line of a diff can equal it.
		if i+1 < len(found) {
			own, text, _ = strings.Cut("\n"+own, "\n"+found[i+1].line)
			text = found[i+1].line + text
		}
		most.All -= one.addDiffs(strings.Split("\n"+own, "\ndiff --git ")[1:], most)
	}
	return ctx.Err()
}

// addDiffs adds the diffs of one snapshot to its files. It returns how many bytes of the total limit they
// use. If the rest of the total limit was too small for a diff, the whole rest counts as used.
func (c *snapshotDiff) addDiffs(diffs []string, most DiffLimits) (used int64) {
	for i := range c.files {
		f := &c.files[i]
		n := min(len(diffs), 1)
		if f.isTwice {
			n = min(len(diffs), 2)
		}
		body := ""
		for _, diff := range diffs[:n] {
			head, lines, hasLines := strings.Cut(diff, "\n@@ ")
			if hasLines {
				body += "@@ " + strings.TrimSuffix(lines, "\n") + "\n"
			}
			f.IsBinary = f.IsBinary || strings.Contains(head, "\nBinary files ")
		}
		room := max(0, min(most.File, most.Execution-used, most.All-used))
		f.Diff, f.IsCut = body, n == 0 || int64(len(body)) > room
		diffs = diffs[n:]
		if f.IsCut {
			f.Diff = body[:strings.LastIndexByte(body[:min(int64(len(body)), room)], '\n')+1]
		}
		used += int64(len(f.Diff))
		if f.IsCut && most.All-used < min(most.File, most.Execution-used) {
			used = most.All
		}
	}
	return used
}
