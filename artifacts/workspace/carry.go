package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Carried is a bundle of snapshots.
type Carried struct {
	Count int // how many it has; with none there is no bundle
	Left  int // how many older ones there was no room for
}

// Packing says where snapshots are packed, and how.
type Packing struct {
	To    string // a new file
	Last  string // what an earlier Pack wrote; "" for nothing
	Base  string // the commit that the job was checked out at; "" for unknown
	Limit int64  // bytes
}

// Pack writes snapshots as a git bundle: the newest ones, as many as there is room for. What
// origin has is left out. Where there is no new one since the last time, that bundle is
// taken.
func (s *Snapshots) Pack(ctx context.Context, p Packing) (Carried, error) {
	t, err := s.open()
	if t == nil {
		return Carried{}, err
	}
	defer t.git.close()
	all, err := t.list(ctx)
	if err != nil || len(all) == 0 {
		return Carried{}, err
	}
	if n := has(p.Last, all); n > 0 && linkOrCopy(p.Last, p.To) == nil {
		return Carried{n, len(all) - n}, nil
	}
	known, err := t.elsewhere(ctx, all, p.Base)
	if err != nil {
		return Carried{}, err
	}
	// Half of them are left out until the rest fits.
	for n := len(all); n > 0; n /= 2 {
		fits, err := t.pack(ctx, p, all[len(all)-n:], known)
		if err != nil || fits {
			return Carried{n, len(all) - n}, errors.Join(err, ctx.Err())
		}
	}
	return Carried{0, len(all)}, nil
}

// has returns how many of the newest snapshots a bundle has, if it has nothing else.
func has(bundle string, all []Snapshot) int {
	f, _, err := files.Open(bundle)
	if err != nil {
		return 0
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil || len(h.heads) > len(all) {
		return 0
	}
	for _, s := range all[len(all)-len(h.heads):] {
		if !slices.Contains(h.heads, branch{s.ref(), s.commit}) {
			return 0
		}
	}
	return len(h.heads)
}

// elsewhere are the commits that whoever unpacks a bundle has or can get: as in a save,
// those of the repository in which the run works.
func (t *shotTool) elsewhere(ctx context.Context, all []Snapshot, base string) ([]string, error) {
	at, err := t.git.place(ctx, all[0].Dir)
	if err != nil || at == nil {
		return nil, err
	}
	s := &source{place: *at, main: true}
	refs, err := t.git.refs(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &packer{git: t.git, src: s, bare: t.dir, at: refs}
	err = p.known(ctx, base)
	return p.has, err
}

// pack writes a bundle of snapshots without the commits that are known, and reports whether it is as small as it has to be. One that isn't
// is removed.
func (t *shotTool) pack(ctx context.Context, p Packing, shots []Snapshot, known []string) (fits bool, err error) {
	f, _, err := files.OpenFile(p.To, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil || !fits {
			err = errors.Join(err, os.Remove(p.To))
		}
	}()
	var in strings.Builder
	for _, s := range shots {
		in.WriteString(s.ref() + "\n")
	}
	out := &bounded{w: f, left: p.Limit}
	c := t.call()
	c.in, c.out = text(in.String()+without(known)), out
	err = t.git.run(ctx, c, "bundle", "create", "--quiet", "-", "--stdin")
	if out.full {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err
	}
	_, _, err = weighBundle(f, shots[0].Format, p.Limit, 0)
	var over *inflatedError
	if errors.As(err, &over) { // what nobody would unpack is not stored
		return false, nil
	}
	return err == nil, err
}

// Arrival says where snapshots come from, and where what they are of lies here.
type Arrival struct {
	Bundle string // the file that Pack wrote, on this machine or another one
	Limit  int64  // its bytes at most
	// Dirs are the directories in which the run works here. Snapshots of other repositories
	// are left out.
	Dirs []string
	// Dir returns where a directory of the machine that packed it lies here; nil for the
	// same place.
	Dir func(string) string
	// Token is shown to the server at ServerURL, and to no other, when commits have to be
	// fetched; "" for none.
	Token, ServerURL string
}

// Unpack makes the repository of a bundle. Nothing in that is trusted; with an error there
// are no snapshots.
func (s *Snapshots) Unpack(ctx context.Context, a Arrival) error {
	plain, err := s.git.open()
	if err != nil {
		return err
	}
	defer plain.close()
	t := &shotTool{git: plain, dir: s.dir}
	if a.Dir == nil {
		a.Dir = func(dir string) string { return dir }
	}
	err = t.arrive(ctx, &a)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

func (t *shotTool) arrive(ctx context.Context, a *Arrival) error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	var commons []string
	for _, dir := range a.Dirs {
		p, _, err := t.git.outermost(ctx, dir)
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
	if err := t.unpack(ctx, a, commons[0]); err != nil {
		return err
	}
	return t.settle(ctx, a, commons)
}

// unpack adds what a bundle has, each object checked, and makes its refs.
func (t *shotTool) unpack(ctx context.Context, a *Arrival, common string) error {
	f, _, err := files.Open(a.Bundle)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > a.Limit {
		return errors.Join(err, fmt.Errorf("it has more than %s", sizes(a.Limit)))
	}
	format, err := formatOf(t.dir)
	if err != nil {
		return err
	}
	head, _, err := weighBundle(f, format, a.Limit, 0)
	if err != nil {
		return err
	}
	if err := head.check(format); err != nil {
		return err
	}
	w := &restorer{git: t.git, Restoring: Restoring{Token: a.Token, ServerURL: a.ServerURL}}
	if err := w.provide(ctx, &plan{saved: &repository{Needs: head.needs}, dir: a.Dirs[0], common: common}); err != nil {
		return err
	}
	if _, err := f.Seek(head.offset, io.SeekStart); err != nil {
		return err
	}
	c := t.call()
	c.in = copyOf(f)
	if err := t.git.run(ctx, c, "index-pack", "--stdin", "--fix-thin", fsck); err != nil {
		return err
	}
	return t.makeRefs(ctx, head)
}

// check refuses what no bundle of ours says.
func (h *header) check(format string) error {
	if len(h.needs) > maxBranches || len(h.heads) > maxSnapshots {
		return errors.New("it has too many commits")
	}
	for _, id := range h.needs {
		if !isID(id, format) {
			return fmt.Errorf("%.80q is no object id", id)
		}
	}
	for _, b := range h.heads {
		n, ok := strings.CutPrefix(b.Name, shotRefs)
		if !ok {
			n, ok = strings.CutPrefix(b.Name, startRefs)
		}
		if !ok || !isID(b.ID, format) || n == "" || len(n) > 9 || strings.Trim(n, "0123456789") != "" {
			return fmt.Errorf("%.80q is no snapshot", b.Name)
		}
	}
	return nil
}

// makeRefs makes the refs of a bundle, when all that they reach is there.
func (t *shotTool) makeRefs(ctx context.Context, h header) error {
	var tips []string
	var refs strings.Builder
	for _, b := range h.heads {
		tips = append(tips, b.ID)
		fmt.Fprintf(&refs, "update %s\x00%s\x00\x00", b.Name, b.ID)
	}
	c := t.call()
	lines, err := t.git.objects(ctx, c, "%(objectsize) %(objecttype)", tips)
	if err != nil {
		return err
	}
	for _, line := range lines {
		size, what, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(size); err != nil || n > maxCommit || what != "commit" {
			return fmt.Errorf("%.80q is no commit of a snapshot", line)
		}
	}
	c.in = text(strings.Join(tips, "\n") + "\n" + without(h.needs))
	if err := t.git.run(ctx, c, "rev-list", "--objects", "--quiet", "--stdin"); err != nil {
		return err
	}
	c.in = text(refs.String())
	return t.git.run(ctx, c, "update-ref", "-z", "--stdin")
}

// settle has the snapshots name the folders of this machine. Those of repositories that the
// run does not work in are left out.
func (t *shotTool) settle(ctx context.Context, a *Arrival, commons []string) error {
	all, err := t.list(ctx)
	if err != nil {
		return err
	}
	var refs, in strings.Builder
	in.WriteString("feature done\n")
	isMoved := false
	for _, s := range all {
		here := s
		here.Dir = a.Dir(s.Dir)
		here.Common = resolved(a.Dir(s.Common))
		if !slices.Contains(commons, here.Common) {
			fmt.Fprintf(&refs, "delete %s\x00%s\x00", s.ref(), s.commit)
			continue
		}
		if here.Dir == s.Dir && here.Common == s.Common {
			continue
		}
		isMoved = true
		if err := t.rewrite(ctx, &in, here); err != nil {
			return err
		}
	}
	in.WriteString("done\n")
	c := t.call()
	if isMoved {
		c.in = text(in.String())
		if err := t.git.run(ctx, c, "fast-import", "--quiet", "--done", "--force"); err != nil {
			return err
		}
	}
	c.in = text(refs.String())
	return t.git.run(ctx, c, "update-ref", "-z", "--stdin")
}

// rewrite writes, for git fast-import, a snapshot with another message.
func (t *shotTool) rewrite(ctx context.Context, in *strings.Builder, s Snapshot) error {
	tree, err := t.git.id(ctx, t.call(), s.commit+"^{tree}")
	if err != nil {
		return err
	}
	about, err := s.message()
	if err != nil {
		return err
	}
	fmt.Fprintf(in, "commit %s\ncommitter raymond <raymond@localhost> 0 +0000\ndata %d\n%s\n", s.ref(), len(about), about)
	if s.Head != "" {
		fmt.Fprintf(in, "from %s\n", s.Head)
	}
	fmt.Fprintf(in, "deleteall\nM 040000 %s \"\"\n\n", tree)
	return nil
}

// BundleName is the name of a bundle of snapshots among the files of a save.
const BundleName = "snapshots.bundle"
