package workspace

import (
	"bytes"
	"context"
	"strings"
)

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
