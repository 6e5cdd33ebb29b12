package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// PackResult describes a bundle of snapshots.
type PackResult struct {
	Count   int // number of snapshots in the bundle; if 0, no bundle was written
	Dropped int // number of older snapshots that didn't fit
}

// Pack writes the newest snapshots that fit to a new git bundle. It leaves out objects that origin has.
// base is the commit that the job checked out, or "" if unknown.
func (s *Snapshots) Pack(ctx context.Context, to, base string) (PackResult, error) {
	t, err := s.open()
	if t == nil {
		return PackResult{}, err
	}
	defer t.git.close()
	all, err := t.list(ctx)
	if err != nil || len(all) == 0 {
		return PackResult{}, err
	}
	// A machine that unpacks the bundle is assumed to have the repository that the run works in.
	var known []string
	p, err := t.git.location(ctx, all[0].Dir)
	if err != nil {
		return PackResult{}, err
	}
	if p != nil {
		at, err := t.git.refs(ctx, p)
		if err != nil {
			return PackResult{}, err
		}
		if known, err = t.git.available(ctx, p, at, base); err != nil {
			return PackResult{}, err
		}
	}
	// If the bundle doesn't fit, Pack tries again with half as many snapshots.
	for n := len(all); n > 0; n /= 2 {
		reach := excluding(known)
		for _, one := range all[len(all)-n:] {
			reach += one.ref() + "\n"
		}
		_, err := t.git.bundle(ctx, t.call(), to, reach, s.limit(), s.limit())
		var over *inflatedError
		if errors.Is(err, errFull) || errors.As(err, &over) {
			continue
		}
		return PackResult{n, len(all) - n}, errors.Join(err, ctx.Err())
	}
	return PackResult{0, len(all)}, nil
}

// Unpack creates the repository of snapshots from the bundle BundleName in r.From, which Pack wrote on any
// machine. dirs are the run's working directories on this machine. Snapshots of other repositories are
// skipped. The bundle is not trusted. If Unpack fails, it removes the repository of snapshots.
func (s *Snapshots) Unpack(ctx context.Context, r RestoreRequest, dirs []string) error {
	plain, err := s.git.open()
	if err != nil {
		return err
	}
	defer plain.close()
	t := &snapshotTool{git: plain, dir: s.dir}
	if err = t.unpackBundle(ctx, newRestorer(plain, r), dirs); err != nil {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// unpackBundle replaces the repository of snapshots by a new one with the snapshots in the bundle, and maps
// their paths to this machine.
func (t *snapshotTool) unpackBundle(ctx context.Context, w *restorer, dirs []string) error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	var commons []string
	for _, dir := range dirs {
		p, err := t.git.location(ctx, dir)
		if err != nil {
			return err
		}
		if p == nil || slices.Contains(commons, p.common) {
			continue
		}
		if err := t.prepare(ctx, p); err != nil {
			return err
		}
		commons = append(commons, p.common)
	}
	if len(commons) == 0 {
		return ErrNoWorktree
	}
	p := &plan{saved: &repository{Bundle: BundleName}, dir: dirs[0], common: commons[0]}
	head, err := w.checkBundle(p.saved)
	if err != nil {
		return err
	}
	if err := head.check(); err != nil {
		return err
	}
	p.saved.Needs = head.needs
	if err := w.fetchNeeded(ctx, p); err != nil {
		return err
	}
	if err := w.unpack(ctx, p.saved, t.dir); err != nil {
		return err
	}
	if err := t.makeRefs(ctx, head); err != nil {
		return err
	}
	return t.relocate(ctx, w, commons)
}

// check returns an error if Pack can't have written the header.
func (h *header) check() error {
	if len(h.needs) > maxBranches || len(h.heads) > maxSnapshots {
		return errors.New("too many commits")
	}
	for _, id := range h.needs {
		if !isID(id) {
			return fmt.Errorf("%.80q is not an object id", id)
		}
	}
	for _, b := range h.heads {
		if !snapshotRef().MatchString(b.Name) || !isID(b.ID) {
			return fmt.Errorf("%.80q is not a snapshot", b.Name)
		}
	}
	return nil
}

// makeRefs creates the refs of a bundle. If an object that they reach is missing, it returns an error.
func (t *snapshotTool) makeRefs(ctx context.Context, h header) error {
	var tips []string
	var moves []refUpdate
	for _, b := range h.heads {
		tips, moves = append(tips, b.ID), append(moves, refUpdate{b.Name, "", b.ID})
	}
	c := t.call()
	objects, err := t.git.objects(ctx, c, "%(objectsize) %(objecttype)", tips)
	if err != nil {
		return err
	}
	for _, line := range objects {
		size, what, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(size); err != nil || n > maxCommit || what != "commit" {
			return fmt.Errorf("%.80q is not a commit of a snapshot", line)
		}
	}
	return errors.Join(t.git.checkComplete(ctx, c, lines(tips...)+excluding(h.needs)), t.git.updateRefs(ctx, c, "", moves))
}

// relocate maps the paths in the snapshots to this machine. It removes snapshots of repositories in which
// the run doesn't work on this machine.
func (t *snapshotTool) relocate(ctx context.Context, w *restorer, commons []string) error {
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	var gone []refUpdate
	var in strings.Builder
	for _, s := range all {
		here := s
		here.Dir = w.Dir(s.Dir)
		here.Common = resolved(w.Dir(s.Common))
		if !slices.Contains(commons, here.Common) {
			gone = append(gone, refUpdate{s.ref(), s.commit, ""})
			continue
		}
		if here.Dir == s.Dir && here.Common == s.Common {
			continue
		}
		about, err := here.message()
		if err != nil {
			return err
		}
		fmt.Fprintf(&in, "commit %s\ncommitter raymond <raymond@localhost> 0 +0000\ndata %d\n%s\n", s.ref(), len(about), about)
		if s.Head != "" {
			fmt.Fprintf(&in, "from %s\n", s.Head)
		}
		fmt.Fprintf(&in, "deleteall\nM 040000 %s \"\"\n\n", s.tree)
	}
	if in.Len() > 0 {
		c := t.call()
		c.in = strings.NewReader("feature done\n" + in.String() + "done\n")
		if err := t.git.run(ctx, c, "fast-import", "--quiet", "--done", "--force"); err != nil {
			return err
		}
	}
	return t.git.updateRefs(ctx, t.call(), "", gone)
}

// BundleName is the name of the bundle of snapshots among the files of a save.
const BundleName = "snapshots.bundle"

// Checkout creates a new worktree in the repository of a snapshot, with the snapshot's index and files.
// HEAD is detached at the snapshot's HEAD. dir is the absolute path of the worktree. If it exists and is
// not an empty directory, the error is a *Conflict. Checkout returns notes for users.
func (s *Snapshots) Checkout(ctx context.Context, one Snapshot, dir string) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	if err := checkVacant(dir); err != nil {
		return nil, err
	}
	if info, err := os.Stat(one.Common); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: the repository of the snapshot no longer exists", one.Dir)
	}
	tree := Tree{Dir: one.Dir, Head: one.Head, Operation: one.Operation}
	if one.Head == "" {
		tree.Branch = "rerun" // before the first commit, HEAD needs a branch
	}
	p := &plan{dir: one.Common, common: one.Common, at: &refs{}, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	return t.restore(ctx, &one, p, dir)
}

// Restore changes an existing worktree to the state of a snapshot: files, index, branch and HEAD. If
// changes or commits would be lost, it returns a *Conflict before it overwrites anything, like
// Git.Restore. It returns notes for users.
func (s *Snapshots) Restore(ctx context.Context, one Snapshot) (notes []string, err error) {
	t, err := s.open()
	if err != nil || t == nil {
		return nil, cmp.Or(err, ErrNoSnapshot)
	}
	defer t.git.close()
	here, err := t.git.worktree(ctx, one.Dir)
	if err != nil {
		return nil, err
	}
	if !sameDir(here.top, one.Dir) || here.common != one.Common {
		return nil, fmt.Errorf("%s: %w", one.Dir, ErrNoWorktree)
	}
	tree := Tree{Dir: one.Dir, Main: !here.isLinked(), Branch: one.Branch, Head: one.Head, Operation: one.Operation}
	p := &plan{dir: one.Dir, common: here.common, saved: &repository{Save: one.commit, Trees: []Tree{tree}}}
	if one.Branch != "" && one.Head != "" {
		p.saved.Branches = []branch{{one.Branch, one.Head}}
	}
	if p.at, err = t.git.refs(ctx, here); err != nil {
		return nil, err
	}
	return t.restore(ctx, &one, p, one.Dir)
}

// restore restores a snapshot in the worktree at dir, in the same way as the work of a save.
func (t *snapshotTool) restore(ctx context.Context, one *Snapshot, p *plan, dir string) (notes []string, err error) {
	if err := t.copyObjects(ctx, one); err != nil {
		return nil, fmt.Errorf("copy the snapshot of %s: %w", one.Dir, err)
	}
	w := newRestorer(t.git, RestoreRequest{Dir: func(string) string { return dir }})
	if err := w.plan(ctx, p); err != nil {
		return nil, err
	}
	err = w.apply(ctx, p)
	return w.notes, err
}

// copyObjects copies the objects of a snapshot to the agents' repository, if that repository lacks them.
func (t *snapshotTool) copyObjects(ctx context.Context, one *Snapshot) error {
	want := one.commit + "\n"
	if one.Head != "" {
		missing, err := t.git.missing(ctx, call{dir: one.Common, bare: one.Common}, []string{one.Head})
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			want += "^" + one.Head + "\n"
		}
	}
	c := t.call()
	c.in = strings.NewReader(want)
	return t.git.runPiped(ctx, c, func(r io.Reader) error { return t.git.indexPack(ctx, one.Common, r, "--fix-thin", fsck) },
		"pack-objects", "--quiet", "--stdout", "--revs", "--thin")
}
