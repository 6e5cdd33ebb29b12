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

// copy creates the repository to hand over, with all objects that the branches reach.
func (x *handOver) copy(ctx context.Context, to string) error {
	tips := lines(x.ends...)
	for _, b := range x.branches {
		tips += b.ID + "\n"
	}
	if err := x.git.copyObjects(ctx, copyRequest{from: x.borrower, to: to, names: tips, ends: x.ends, most: x.most}); err != nil {
		return fmt.Errorf("copy the checkout and the agents' work: %w", err)
	}
	return x.git.checkComplete(ctx, call{dir: to, bare: to}, tips)
}

// copyRequest describes the objects that copyObjects copies.
type copyRequest struct {
	from, to string   // repositories of this package; copyObjects creates the second one
	names    string   // commits whose history is copied, one per line; if ends is nil, the objects to copy
	ends     []string // commits at which the history is cut off
	most     int64    // maximum size of the pack in bytes
}

// copyObjects creates a repository with objects that agents may have written. git index-pack computes
// each object's id from its content. So an object that was stored under another object's id doesn't replace
// that object. The inflated size of the pack is checked before git unpacks it.
func (t *tool) copyObjects(ctx context.Context, o copyRequest) error {
	f, _, err := files.OpenFile(filepath.Join(t.temp, "copied.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	args, check := []string{"pack-objects", "--quiet", "--stdout", "--delta-base-offset"}, []string(nil)
	if o.ends != nil {
		args, check = append(args, "--revs"), []string{fsck}
	}
	out := &limitedWriter{w: f, left: o.most}
	err = t.run(ctx, call{dir: o.from, bare: o.from, in: strings.NewReader(o.names), out: out}, args...)
	if out.full {
		return fmt.Errorf("they have more than %s; use another job", formatBytes(o.most))
	}
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := inflatedSize(f, o.most, o.most*inflatedFactor); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := t.initBorrower(ctx, o.to, ""); err != nil {
		return err
	}
	if o.ends != nil {
		if err := writeShallow(o.to, o.ends); err != nil {
			return err
		}
	}
	return t.indexPack(ctx, o.to, f, check...)
}
