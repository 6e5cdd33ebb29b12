package checkpoint

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/state"
)

// WriteRequest says what to write.
type WriteRequest struct {
	// Manifest is complete but for Schema and Files.
	Manifest Manifest
	Entries  []Entry // in any order
	Keys     *Keys   // nil: neither encrypted nor signed
	// Mask hides secrets in all parts and in the manifest's Reason and Title; nil hides
	// none. It must not change the number of bytes. Bundles of the workspace are exempt:
	// they are compressed, so nothing would be found in them, and a changed byte
	// would break them.
	Mask func(io.Reader) io.Reader
}

// WriteResult says what was written.
type WriteResult struct {
	Manifest Manifest
	Digest   string // of the manifest's exact bytes
	Size     int64  // of the archive
	SHA256   string // of the archive's bytes: "sha256:…"
}

// Write writes the archive of a checkpoint, which Read accepts with the same
// keys. Without keys the same parts and manifest make the same bytes. Files are
// streamed, each in one pass. A manifest that Read would refuse is an *Invalid,
// anything over its limits an ErrTooLarge; after an error what was written is of no
// use.
func Write(to io.Writer, w WriteRequest) (WriteResult, error) {
	out, err := write(to, w, room{packed: maxPacked, total: maxTotal})
	if err != nil {
		return WriteResult{}, fmt.Errorf("write checkpoint: %w", err)
	}
	return out, nil
}

// room is how much may be written, in bytes.
type room struct {
	packed int64 // the archive
	total  int64 // all files and the manifest
}

func write(to io.Writer, w WriteRequest, most room) (WriteResult, error) {
	w.Entries = slices.Clone(w.Entries)
	slices.SortFunc(w.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	m, err := w.manifest()
	if err != nil {
		return WriteResult{}, err
	}
	sum := &sum{Hash: sha256.New()}
	out := &capped{w: io.MultiWriter(to, sum), left: most.packed}
	p := &packing{WriteRequest: w, manifest: m, left: most.total - maxManifest - maxSmall}
	if w.Keys == nil {
		err = p.pack(out)
	} else {
		err = p.seal(out)
	}
	return WriteResult{Manifest: p.manifest, Digest: digest(p.data), Size: sum.n, SHA256: "sha256:" + sum.hex()}, err
}

// manifest fills in what doesn't depend on the files, and checks it before any
// of them is read.
func (w *WriteRequest) manifest() (Manifest, error) {
	m := w.Manifest
	m.Schema = Schema
	m.Created = m.Created.UTC().Truncate(time.Millisecond)
	for _, text := range []*string{&m.Reason, &m.Title} {
		masked, err := io.ReadAll(w.mask("", strings.NewReader(*text)))
		if err != nil {
			return m, err
		}
		*text = strings.ToValidUTF8(string(masked), "\uFFFD")
	}
	m.Files = []File{}
	for _, p := range w.Entries {
		m.Files = append(m.Files, File{Name: p.Name, SHA256: strings.Repeat("0", 2*sha256.Size)})
	}
	return m, m.validate()
}

func (w *WriteRequest) mask(name string, r io.Reader) io.Reader {
	if w.Mask == nil || isBundle(name) {
		return r
	}
	if name == HistoryName {
		return state.MaskHistory(r, w.Mask)
	}
	return w.Mask(r)
}

// packing is the making of one archive.
type packing struct {
	WriteRequest

	manifest Manifest
	data     []byte // the bytes of manifest.json, when all files are packed
	left     int64  // bytes that files may yet have
}

// pack writes the plain archive: the files, then the manifest.
func (p *packing) pack(w io.Writer) error {
	if len(p.Entries) > maxEntries-2 {
		return fmt.Errorf("%d files, more than %d: %w", len(p.Entries), maxEntries-2, ErrTooLarge)
	}
	z := archive.NewPacker(w)
	for i := range p.Entries {
		file, err := p.add(z, &p.Entries[i])
		if err != nil {
			return fmt.Errorf("%q: %w", p.Entries[i].Name, err)
		}
		p.manifest.Files[i] = file
	}
	data, err := encodeJSON(&p.manifest)
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	p.data = data
	if err := z.Add(manifestName, strings.NewReader(string(data))); err != nil {
		return err
	}
	return z.Close()
}

// add packs one file and says what it holds.
func (p *packing) add(z *archive.Packer, part *Entry) (File, error) {
	in, err := part.open()
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	stored := &sum{Hash: sha256.New()}
	masked := io.LimitReader(p.mask(part.Name, in), entryLimit(part.Name)+1)
	put := z.Add
	if isBundle(part.Name) {
		put = z.AddStored
	}
	if err := put(part.Name, io.TeeReader(masked, stored)); err != nil {
		return File{}, err
	}
	switch limit := entryLimit(part.Name); { // no mask changes the number of bytes
	case stored.n > limit:
		return File{}, tooLarge(limit)
	case part.Path != "" && part.Size >= 0 && stored.n != part.Size:
		return File{}, fmt.Errorf("the file's size changed while it was stored: %d bytes, want %d", stored.n, part.Size)
	}
	if p.left -= stored.n; p.left < 0 {
		return File{}, fmt.Errorf("with it the files have %d bytes too many: %w", -p.left, ErrTooLarge)
	}
	return File{Name: part.Name, Size: stored.n, SHA256: stored.hex()}, nil
}

// capped refuses to write beyond a number of bytes.
type capped struct {
	w    io.Writer
	left int64
}

func (c *capped) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, fmt.Errorf("the archive has %d bytes too many: %w", int64(len(p))-c.left, ErrTooLarge)
	}
	n, err := c.w.Write(p)
	c.left -= int64(n)
	return n, err
}
