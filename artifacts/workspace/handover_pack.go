package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// findEnds finds the commits at which the history is cut off: the checkout's commit, and commits of the
// work that are older than it or unrelated to it. It marks them as shallow in the borrower.
func (x *handOver) findEnds(ctx context.Context) error {
	in := "^" + x.Base + "\n"
	for _, b := range x.branches {
		in += b.ID + "\n"
	}
	c := call{dir: x.borrower, bare: x.borrower, in: strings.NewReader(in)}
	out, err := x.git.output(ctx, c, "rev-list", "--boundary", "--stdin")
	if err != nil {
		return err
	}
	cut, err := readShallow(x.borrower)
	if err != nil {
		return err
	}
	isCut, isNew, ends := map[string]bool{}, map[string]bool{}, []string{x.Base}
	for _, id := range cut {
		isCut[id] = true
	}
	for line := range strings.Lines(string(out)) {
		id, isEnd := strings.CutPrefix(strings.TrimSpace(line), "-")
		if isNew[id] = !isEnd; isEnd || isCut[id] {
			ends = append(ends, id)
		}
	}
	for _, b := range x.branches {
		if !isNew[b.ID] {
			ends = append(ends, b.ID)
		}
	}
	slices.Sort(ends)
	x.ends = slices.Compact(ends)
	return writeShallow(x.borrower, x.ends)
}

// copyObjects creates the repository to with objects of the repository from, which agents may have written. names are
// commits whose history is copied, one per line, and ends are the commits at which it is cut off. If ends is nil,
// names are the objects to copy. most is the maximum size of the pack in bytes.
//
// git index-pack computes each object's id from its content. So an object that was stored under another object's id
// doesn't replace that object. The inflated size of the pack is checked before git unpacks it.
func (t *tool) copyObjects(ctx context.Context, from, to, names string, ends []string, most int64) error {
	f, _, err := files.OpenFile(filepath.Join(t.temp, "copied.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	args, check := []string{"pack-objects", "--quiet", "--stdout", "--delta-base-offset"}, []string(nil)
	if ends != nil {
		args, check = append(args, "--revs"), []string{fsck}
	}
	out := &limitedWriter{w: f, left: most}
	err = t.run(ctx, call{dir: from, bare: from, in: strings.NewReader(names), out: out}, args...)
	if out.full {
		return fmt.Errorf("they have more than %s; use another job", formatBytes(most))
	}
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := inflatedSize(f, most, most*inflatedFactor); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := t.initBorrower(ctx, to, ""); err != nil {
		return err
	}
	if ends != nil {
		if err := writeShallow(to, ends); err != nil {
			return err
		}
	}
	return t.indexPack(ctx, to, f, check...)
}
