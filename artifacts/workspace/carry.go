package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// PackResult is a bundle of snapshots.
type PackResult struct {
	Count   int // how many it has; with none there is no bundle
	Dropped int // how many older ones there was no room for
}

// Pack writes snapshots as a git bundle, a new file: the newest ones, as many as there is room for. What
// origin has is left out. base is the commit that the job was checked out at; "" for unknown.
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
	known, err := t.elsewhere(ctx, all, base)
	if err != nil {
		return PackResult{}, err
	}
	b := bundling{to: to, room: s.limit(), limit: s.limit()}
	// Half of them are left out until the rest fits.
	for n := len(all); n > 0; n /= 2 {
		b.reach = without(known)
		for _, one := range all[len(all)-n:] {
			b.reach += one.ref() + "\n"
		}
		fits, err := t.pack(ctx, b)
		if err != nil || fits {
			return PackResult{n, len(all) - n}, errors.Join(err, ctx.Err())
		}
	}
	return PackResult{0, len(all)}, nil
}

// elsewhere are the commits that whoever unpacks a bundle has or can get: as in a save,
// those of the repository in which the run works.
func (t *shotTool) elsewhere(ctx context.Context, all []Snapshot, base string) ([]string, error) {
	p, err := t.git.place(ctx, all[0].Dir)
	if err != nil || p == nil {
		return nil, err
	}
	at, err := t.git.refs(ctx, p)
	if err != nil {
		return nil, err
	}
	return t.git.known(ctx, p, at, base)
}

// pack writes a bundle, and reports whether that is as small as it has to be.
func (t *shotTool) pack(ctx context.Context, b bundling) (fits bool, err error) {
	_, err = t.git.bundle(ctx, t.call(), b)
	var over *inflatedError
	if errors.Is(err, errFull) || errors.As(err, &over) {
		return false, nil
	}
	return err == nil, err
}

// Unpack makes the repository of a bundle, named BundleName in the folder that it is restored from, which Pack wrote on
// this machine or another one. Snapshots of other repositories than those of dirs, the directories in which the run works
// here, are left out. Nothing in the bundle is trusted; with an error there are no snapshots.
func (s *Snapshots) Unpack(ctx context.Context, r RestoreRequest, dirs []string) error {
	plain, err := s.git.open()
	if err != nil {
		return err
	}
	defer plain.close()
	t := &shotTool{git: plain, dir: s.dir}
	if err = t.arrive(ctx, newRestorer(plain, r), dirs); err != nil {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

func (t *shotTool) arrive(ctx context.Context, w *restorer, dirs []string) error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	var commons []string
	for _, dir := range dirs {
		p, err := t.git.place(ctx, dir)
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
	if err := t.unpack(ctx, w, &plan{saved: &repository{Bundle: BundleName}, dir: dirs[0], common: commons[0]}); err != nil {
		return err
	}
	return t.settle(ctx, w, commons)
}

// unpack adds what a bundle has, each object checked, and makes its refs.
func (t *shotTool) unpack(ctx context.Context, w *restorer, p *plan) error {
	head, err := w.weigh(p.saved)
	if err != nil {
		return err
	}
	if err := head.check(); err != nil {
		return err
	}
	p.saved.Needs = head.needs
	if err := w.provide(ctx, p); err != nil {
		return err
	}
	if err := w.unpack(ctx, p.saved, t.dir); err != nil {
		return err
	}
	return t.makeRefs(ctx, head)
}

// check refuses what no bundle of ours says.
func (h *header) check() error {
	if len(h.needs) > maxBranches || len(h.heads) > maxSnapshots {
		return errors.New("it has too many commits")
	}
	for _, id := range h.needs {
		if !isID(id) {
			return fmt.Errorf("%.80q is no object id", id)
		}
	}
	for _, b := range h.heads {
		if !shotRef().MatchString(b.Name) || !isID(b.ID) {
			return fmt.Errorf("%.80q is no snapshot", b.Name)
		}
	}
	return nil
}

// makeRefs makes the refs of a bundle, when all that they reach is there.
func (t *shotTool) makeRefs(ctx context.Context, h header) error {
	var tips []string
	var moves []move
	for _, b := range h.heads {
		tips, moves = append(tips, b.ID), append(moves, move{b.Name, "", b.ID})
	}
	c := t.call()
	objects, err := t.git.objects(ctx, c, "%(objectsize) %(objecttype)", tips)
	if err != nil {
		return err
	}
	for _, line := range objects {
		size, what, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(size); err != nil || n > maxCommit || what != "commit" {
			return fmt.Errorf("%.80q is no commit of a snapshot", line)
		}
	}
	return errors.Join(t.git.areWhole(ctx, c, lines(tips...)+without(h.needs)), t.git.moveRefs(ctx, c, "", moves))
}

// settle has the snapshots name the folders of this machine. Those of repositories that the
// run does not work in are left out.
func (t *shotTool) settle(ctx context.Context, w *restorer, commons []string) error {
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	var gone []move
	var in strings.Builder
	for _, s := range all {
		here := s
		here.Dir = w.Dir(s.Dir)
		here.Common = resolved(w.Dir(s.Common))
		if !slices.Contains(commons, here.Common) {
			gone = append(gone, move{s.ref(), s.commit, ""})
			continue
		}
		if here.Dir == s.Dir && here.Common == s.Common {
			continue
		}
		if err := here.write(&in); err != nil {
			return err
		}
	}
	if in.Len() > 0 {
		c := t.call()
		c.in = strings.NewReader("feature done\n" + in.String() + "done\n")
		if err := t.git.run(ctx, c, "fast-import", "--quiet", "--done", "--force"); err != nil {
			return err
		}
	}
	return t.git.moveRefs(ctx, t.call(), "", gone)
}

// write writes a snapshot as git fast-import reads it.
func (s *Snapshot) write(in *strings.Builder) error {
	about, err := s.message()
	if err != nil {
		return err
	}
	fmt.Fprintf(in, "commit %s\ncommitter raymond <raymond@localhost> 0 +0000\ndata %d\n%s\n", s.ref(), len(about), about)
	if s.Head != "" {
		fmt.Fprintf(in, "from %s\n", s.Head)
	}
	fmt.Fprintf(in, "deleteall\nM 040000 %s \"\"\n\n", s.tree)
	return nil
}

// BundleName is the name of a bundle of snapshots among the files of a save.
const BundleName = "snapshots.bundle"
