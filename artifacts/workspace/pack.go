package workspace

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// saveRef is the ref in a bundle that points to the commit with all work.
const saveRef = "refs/raymond/save"

// initBorrower creates a bare repository without settings. If common is not empty, the new repository
// borrows the objects of the repository at common.
func (t *tool) initBorrower(ctx context.Context, dir, common string) (string, error) {
	if err := t.initBare(ctx, dir); err != nil {
		return "", err
	}
	t.ownRepos[dir] = true
	if common == "" {
		return dir, nil
	}
	return dir, borrow(dir, common)
}

// initBare creates a bare repository.
func (t *tool) initBare(ctx context.Context, dir string) error {
	c := call{dir: filepath.Dir(dir), alone: true}
	return t.run(ctx, c, "init", "--quiet", "--bare", "--template=", "--object-format=sha1", dir)
}

// readShallow returns the commits of a repository whose parents it lacks, from its shallow file.
func readShallow(common string) ([]string, error) {
	data, _, err := files.Read(filepath.Join(common, "shallow"), maxList)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

// pack writes the bundle of a repository and returns its entry for the index.
func (w *saver) pack(ctx context.Context, s *source, at *refs) (*repository, error) {
	bare, err := w.git.initBorrower(ctx, filepath.Join(w.git.temp, w.bundle+".git"), s.common)
	if err != nil {
		return nil, err
	}
	p := &packer{git: w.git, src: s, call: call{dir: bare, bare: bare}, at: at, ref: saveRef, stamps: newStamps(nil, time.Time{})}
	r := &repository{Main: s.main, Branches: at.branches}
	if r.Extras, err = w.git.extras(ctx, &s.location, at); err != nil {
		return nil, err
	}
	if s.main {
		p.has, err = w.git.available(ctx, &s.location, at, w.Base)
	} else { // other machines may not have this repository, so it is packed completely
		r.Shallow, err = readShallow(s.common)
	}
	if err != nil {
		return nil, err
	}
	if slices.Contains(p.has, w.Base) {
		s.base = w.Base
	}
	for _, wt := range s.trees {
		r.Trees = append(r.Trees, wt.Tree)
	}
	if r.Save, err = p.commit(ctx, w.limit); err != nil {
		return nil, err
	}
	r.Notes = slices.Clone(s.notes)
	r.Bundle = w.bundle
	if s.base != "" { // commits that were pushed to origin since the checkout count too
		c := p.call
		c.in = strings.NewReader(lines(p.tips()...) + "^" + s.base + "\n")
		out, err := w.git.output(ctx, c, "rev-list", "--stdin", fmt.Sprintf("--max-count=%d", maxCommits))
		if err != nil {
			return nil, err
		}
		r.Commits = strings.Fields(string(out))
	}
	reach := lines(saveRef) + excluding(p.has)
	var moves []refUpdate
	for i, x := range r.Extras {
		moves = append(moves, refUpdate{extraRefs + strconv.Itoa(i), "", x.ID})
		reach += lines(extraRefs + strconv.Itoa(i))
	}
	if err := w.git.updateRefs(ctx, p.call, "", moves); err != nil {
		return nil, err
	}
	if err := w.git.fetchMissing(ctx, p.call, s.common, reach); err != nil {
		return nil, err
	}
	bundle, err := w.git.bundle(ctx, p.call, filepath.Join(w.To, r.Bundle), reach, w.limit-w.used, w.limit)
	var over *inflatedError
	switch {
	case errors.Is(err, errFull):
		return nil, fmt.Errorf("%w: commits and changed files are over %s%s", ErrTooLarge, formatBytes(w.limit), p.largest)
	case errors.As(err, &over):
		return nil, fmt.Errorf("%w: %w%s", ErrTooLarge, over, p.largest)
	}
	r.Size, r.SHA256, r.Needs = bundle.size, bundle.sum, bundle.needs
	r.Held = p.hasWork(r.Needs) || len(r.Extras) > 0
	return r, err
}

// maxCommits is the maximum number of commits that the index lists for a repository.
const maxCommits = 1000

// packer creates the commit of a save or of a workspace snapshot.
type packer struct {
	git  *tool
	src  *source
	call call // for git commands in the repository that gets the commit
	at   *refs
	has  []string // commits that a restore is expected to have or to be able to fetch

	ref      string    // name of the commit's ref
	about    string    // commit message
	settings []setting // git settings for writing the commit
	stamps   *stamps   // cache of files that the repository already contains
	single   int64     // maximum size of one file; 0 means no limit
	largest  string    // describes the largest changed files in error messages
}

// available returns the commits that need not be packed: the checkout's commit, commits of origin, and
// the commits at which a shallow history ends, which came from origin too. It omits missing commits.
func (t *tool) available(ctx context.Context, p *location, at *refs, base string) ([]string, error) {
	shallow, err := readShallow(p.common)
	if err != nil {
		return nil, err
	}
	has := slices.Concat(at.remote, shallow)
	if isID(base) {
		has = append(has, base)
	}
	missing, err := t.missing(ctx, call{dir: p.common, bare: p.common}, has)
	return slices.DeleteFunc(has, func(id string) bool { return slices.Contains(missing, id) }), err
}

// missing returns the ids that don't name a commit in a repository.
func (t *tool) missing(ctx context.Context, c call, ids []string) ([]string, error) {
	lines, err := t.objects(ctx, c, "%(objectname) %(objecttype)", ids)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, line := range lines {
		if id, what, _ := strings.Cut(line, " "); what != "commit" {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// tips returns the commits that the HEADs and branches point to.
func (p *packer) tips() []string {
	var ids []string
	for _, wt := range p.src.trees {
		if wt.Head != "" {
			ids = append(ids, wt.Head)
		}
	}
	for _, b := range p.at.branches {
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// hasWork reports whether a save contains anything that a fresh checkout lacks. needs are the commits
// that must exist before the bundle can be unpacked.
func (p *packer) hasWork(needs []string) bool {
	first := p.src.trees[0]
	return !p.src.main || len(p.src.trees) > 1 || len(first.status) > 0 || first.Operation != "" ||
		p.src.base != "" && first.Head != p.src.base || slices.ContainsFunc(p.tips(), func(id string) bool { return !slices.Contains(needs, id) })
}

// lines returns text with one name per line, as input for git.
func lines(names ...string) string { return prefixLines("", names) }

// excluding returns lines that make git exclude commits and everything that they reach.
func excluding(ids []string) string {
	return prefixLines("^", ids)
}

// prefixLines returns text with one name per line, each after the prefix.
func prefixLines(prefix string, names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(prefix + name + "\n")
	}
	return b.String()
}

// A small pack can contain gigabytes of zeros. So the inflated size of a pack is checked before git reads
// the pack, and the sizes of files are checked before they are written.

// inflatedFactor limits the inflated size of a pack, and the size of the files that a restore writes: each
// may be this many times larger than the limit on packed bytes.
const inflatedFactor = 8

// Limits on the objects in a pack.
const (
	maxObjects = 8 << 20   // number of objects; git holds some data about each in memory
	maxHeld    = 512 << 20 // size of one object that git reads into memory completely: all except blobs that are not deltas
)

// inflatedError is the error for a pack, an object or files that would be too large when unpacked.
type inflatedError struct {
	what string
	most int64
}

func (e *inflatedError) Error() string {
	return e.what + " more than " + formatBytes(e.most) + " when unpacked"
}

// Object types of a pack that need special treatment.
const (
	blobObject  = 3
	offsetDelta = 6
	nameDelta   = 7
)

// pack reads a pack file. Its memory use doesn't depend on the size of the pack.
type pack struct {
	r       *bufio.Reader
	inflate io.ReadCloser // nil before the first object
	largest int64         // maximum size of one object
}

// inflatedSize returns the total size of a pack's inflated objects. A delta counts with its own size. The
// error is an *inflatedError if one object has more than largest bytes, or if all objects together have
// more than most bytes. inflatedSize leaves all other checks to git.
func inflatedSize(from io.Reader, largest, most int64) (int64, error) {
	p := &pack{r: bufio.NewReaderSize(from, 1<<16), largest: largest}
	var head struct {
		Magic   [4]byte
		Version uint32
		Objects uint32
	}
	if err := binary.Read(p.r, binary.BigEndian, &head); err != nil || string(head.Magic[:]) != "PACK" {
		return 0, errors.New("it is not a pack")
	}
	if head.Objects > maxObjects {
		return 0, fmt.Errorf("it has %d objects, but at most %d are allowed", head.Objects, maxObjects)
	}
	var all int64
	for range head.Objects {
		size, err := p.object()
		if err != nil {
			return 0, err
		}
		if all += size; all > most {
			return 0, &inflatedError{"all objects have", most}
		}
	}
	return all, nil
}

// object reads one object without storing it, and returns its size.
func (p *pack) object() (int64, error) {
	first, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	kind, size := first>>4&7, int64(first&15)
	if first >= 0x80 {
		rest, err := binary.ReadUvarint(p.r)
		if err != nil {
			return 0, err
		}
		if rest > 1<<58 {
			return 0, errors.New("its size is invalid")
		}
		size |= int64(rest) << 4
	}
	most := p.largest
	if kind != blobObject {
		most = min(most, maxHeld)
	}
	if size > most {
		return 0, &inflatedError{"an object has", most}
	}
	switch kind {
	case offsetDelta:
		// The offset of the delta's base is skipped. Git encodes it differently from the varints of package
		// binary, but it ends at the same byte.
		_, err = binary.ReadUvarint(p.r)
	case nameDelta:
		_, err = p.r.Discard(sha1.Size)
	}
	if err != nil {
		return 0, err
	}
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.r)
	} else {
		err = p.inflate.(zlib.Resetter).Reset(p.r, nil)
	}
	if err != nil {
		return 0, err
	}
	in := io.Reader(p.inflate)
	if kind == offsetDelta || kind == nameDelta {
		if in, err = p.delta(size); err != nil {
			return 0, err
		}
	}
	// Reading one more byte than the header says shows whether the object is larger.
	n, err := io.Copy(io.Discard, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = errors.New("its size differs from its header")
	}
	return size, err
}

// delta reads the two sizes at the start of a delta: the size of its base and the size of its result. It
// returns a reader of the whole delta.
func (p *pack) delta(size int64) (io.Reader, error) {
	start := make([]byte, min(size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(p.inflate, start); err != nil {
		return nil, err
	}
	_, n := binary.Uvarint(start)
	result, m := binary.Uvarint(start[max(n, 0):])
	if n <= 0 || m <= 0 {
		return nil, errors.New("it is not a delta")
	}
	if most := min(p.largest, maxHeld); result > uint64(most) {
		return nil, &inflatedError{"an object has", most}
	}
	return io.MultiReader(bytes.NewReader(start), p.inflate), nil
}

// checkFileSizes adds up the sizes of the files that will be written, because a single small object can be
// the content of thousands of files. The error is an *inflatedError if the sum exceeds the limit.
func (w *restorer) checkFileSizes(ctx context.Context, p *plan, t *treePlan) error {
	var ids []string
	for _, path := range t.write {
		ids = append(ids, t.want.work[path].id)
	}
	lines, err := w.git.objects(ctx, call{dir: p.common, bare: p.common}, "%(objectsize)", ids)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if n, err := strconv.ParseInt(line, 10, 64); err == nil { // otherwise the object is missing, and reading it will fail
			w.written += n
		}
		if most := w.limit * inflatedFactor; w.written > most {
			return &inflatedError{"the files of the saved work have", most}
		}
	}
	return nil
}
