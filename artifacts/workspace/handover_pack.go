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

// findEnds finds the commits that the history begins with: that of the checkout, and those that the work leads to behind it or beside it.
func (x *giver) findEnds(ctx context.Context) error {
	in := "^" + x.Base + "\n"
	for _, b := range x.branches {
		in += b.ID + "\n"
	}
	c := call{dir: x.lent, bare: x.lent, in: strings.NewReader(in)}
	out, err := x.git.output(ctx, c, "rev-list", "--boundary", "--stdin")
	if err != nil {
		return err
	}
	cut, err := readShallow(x.lent)
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
	return writeShallow(x.lent, x.ends)
}

// copy makes the repository, with all objects that the branches reach.
func (x *giver) copy(ctx context.Context, to string) error {
	tips := lines(x.ends...)
	for _, b := range x.branches {
		tips += b.ID + "\n"
	}
	if err := x.git.copyObjects(ctx, copying{from: x.lent, to: to, names: tips, ends: x.ends, most: x.most}); err != nil {
		return fmt.Errorf("copy the checkout and the agents' work: %w", err)
	}
	return x.git.areWhole(ctx, call{dir: to, bare: to}, tips)
}

// copying says which objects copyObjects copies.
type copying struct {
	from, to string   // repositories of ours; the second one is made
	names    string   // of commits, one a line; without ends, of all objects that are copied
	ends     []string // the commits at which the history of the commits is cut off
	most     int64    // how many bytes the pack may have
}

// copyObjects makes a repository of objects that agents may have written. git index-pack computes the name of each object
// from its content there, so an object that was stored under the name of another one is not found by that name. The pack
// is weighed before it is unpacked.
func (t *tool) copyObjects(ctx context.Context, o copying) error {
	f, _, err := files.OpenFile(filepath.Join(t.temp, "copied.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	args, check := []string{"pack-objects", "--quiet", "--stdout", "--delta-base-offset"}, []string(nil)
	if o.ends != nil {
		args, check = append(args, "--revs"), []string{fsck}
	}
	out := &bounded{w: f, left: o.most}
	err = t.run(ctx, call{dir: o.from, bare: o.from, in: strings.NewReader(o.names), out: out}, args...)
	if out.full {
		return fmt.Errorf("they are over %s; let another job take them", sizes(o.most))
	}
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := weighPack(f, o.most, o.most*inflatedFactor); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := t.shadow(ctx, o.to, ""); err != nil {
		return err
	}
	if o.ends != nil {
		if err := writeShallow(o.to, o.ends); err != nil {
			return err
		}
	}
	return t.takePack(ctx, o.to, f, check...)
}
