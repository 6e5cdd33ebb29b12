package workspace

import (
	"bytes"
	"context"
	"strings"
)

// diffFactor is how much larger than the room for them diffs may be for all of them to be read.
const diffFactor = 8

// diffs adds diffs, as far as there is room. Git writes them in the order of the snapshots and of their files.
func (t *shotTool) diffs(ctx context.Context, c call, found []*compared, most DiffLimits) error {
	c.settings = []setting{{"core.bigFileThreshold", "1m"}}
	var all bytes.Buffer
	out := &bounded{w: &all, left: diffFactor * most.All}
	c.out = out
	err := t.git.run(ctx, c, "diff-tree", "--stdin", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=3")
	if err != nil && !out.full {
		return err
	}
	text := all.String()
	for i, one := range found {
		own := strings.TrimPrefix(text, one.line)
		if i+1 < len(found) { // its line follows, on a line of its own as no line of a file is
			own, text, _ = strings.Cut("\n"+own, "\n"+found[i+1].line)
			text = found[i+1].line + text
		}
		most.All -= one.addDiffs(strings.Split("\n"+own, "\ndiff --git ")[1:], most)
	}
	return ctx.Err()
}

// addDiffs gives the diffs of a snapshot to its files, and returns how much of the room they take: all of it, where
// others would need as much as there was no room for.
func (c *compared) addDiffs(diffs []string, most DiffLimits) (used int64) {
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
