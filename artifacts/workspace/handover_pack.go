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

// copy makes the repository, with all objects that the branches reach. The agents' may lie about each of them: what
// leaves the cage is weighed before it is unpacked, and what is unpacked there is whole, or there is nothing.
func (x *giver) copy(ctx context.Context, to string) error {
	f, _, err := files.OpenFile(filepath.Join(x.git.temp, "work.pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	tips := lines(x.ends...)
	for _, b := range x.branches {
		tips += b.ID + "\n"
	}
	out := &bounded{w: f, left: x.most}
	err = x.git.run(ctx, call{dir: x.lent, bare: x.lent, in: strings.NewReader(tips), out: out}, "pack-objects", "--quiet", "--stdout", "--revs", "--delta-base-offset")
	if out.full {
		return fmt.Errorf("the checkout and the work are over %s; let another job take them", sizes(x.most))
	}
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := weighPack(f, x.most, x.most*inflatedFactor); err != nil {
		return fmt.Errorf("the work: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := x.git.shadow(ctx, to, ""); err != nil {
		return err
	}
	if err := writeShallow(to, x.ends); err != nil {
		return err
	}
	if err := x.git.takePack(ctx, to, f, fsck); err != nil {
		return err
	}
	return x.git.areWhole(ctx, call{dir: to, bare: to}, tips)
}
