package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state/journal"
)

// WriteRequest contains the inputs of Write.
type WriteRequest struct {
	// Manifest describes the checkpoint. Write sets its Schema and Files.
	Manifest Manifest
	Entries  []Entry // in any order
	Keys     *Keys   // if nil, the checkpoint is neither encrypted nor signed
	// Mask hides secrets in all entries and in the manifest's Reason and Title. It must not change the
	// number of bytes. A nil Mask masks no entry. Mask is not applied to git bundles: they are compressed,
	// so it would find nothing, and a changed byte would break them.
	Mask func(io.Reader) io.Reader
}

// WriteResult describes the checkpoint that Write wrote.
type WriteResult struct {
	Manifest Manifest
	Digest   string // digest of the bytes of manifest.json
	Size     int64  // size of the archive
	SHA256   string // SHA-256 of the archive, as "sha256:…"
}

// Write writes the archive of a checkpoint, which Read accepts with the same keys. Without keys, equal
// entries and an equal manifest give equal bytes. Each file is streamed in one pass. The error is an
// *Invalid if Read would reject the manifest, and wraps ErrTooLarge if the checkpoint exceeds Read's
// limits. After an error the output is unusable.
func Write(to io.Writer, w WriteRequest) (WriteResult, error) {
	out, err := write(to, w, maxPacked, maxTotal)
	if err != nil {
		return WriteResult{}, fmt.Errorf("write checkpoint: %w", err)
	}
	return out, nil
}

// write is like Write, but takes two limits in bytes as arguments: of the archive, and of all files and the
// manifest together.
func write(to io.Writer, w WriteRequest, packed, total int64) (WriteResult, error) {
	w.Entries = slices.Clone(w.Entries)
	slices.SortFunc(w.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	m := w.Manifest
	m.Schema = Schema
	m.Created = m.Created.UTC().Truncate(time.Millisecond)
	for _, text := range []*string{&m.Reason, &m.Title} {
		masked, err := io.ReadAll(w.mask("", strings.NewReader(*text)))
		if err != nil {
			return WriteResult{}, err
		}
		*text = strings.ToValidUTF8(string(masked), "\uFFFD")
	}
	m.Files = []File{}
	for _, p := range w.Entries {
		m.Files = append(m.Files, File{Name: p.Name, SHA256: strings.Repeat("0", 2*sha256.Size)})
	}
	// Sizes and hashes of the files are still missing. An invalid manifest is found before any file is read.
	if err := m.validate(); err != nil {
		return WriteResult{}, err
	}
	sum := &countingHash{Hash: sha256.New()}
	out := &limitedWriter{w: io.MultiWriter(to, sum), left: packed}
	p := &packer{WriteRequest: w, manifest: m, left: total - maxManifest - maxSmall}
	var err error
	if w.Keys == nil {
		err = p.pack(out)
	} else {
		err = p.seal(out)
	}
	return WriteResult{Manifest: p.manifest, Digest: digest(p.data), Size: sum.n, SHA256: "sha256:" + sum.hex()}, err
}

// mask returns a reader that masks the content of the named file, unless it is a git bundle.
func (w *WriteRequest) mask(name string, r io.Reader) io.Reader {
	if w.Mask == nil || isBundle(name) {
		return r
	}
	if name == HistoryName {
		return journal.Mask(r, w.Mask)
	}
	return w.Mask(r)
}

// packer writes one checkpoint.
type packer struct {
	WriteRequest

	manifest Manifest
	data     []byte // bytes of manifest.json; set after all files are packed
	left     int64  // maximum number of bytes of all further files
}

// pack writes the plain archive: the files, then the manifest, to which it adds the files' sizes and hashes.
func (p *packer) pack(w io.Writer) error {
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

// add masks and packs one file, and returns its entry for the manifest.
func (p *packer) add(z *archive.Packer, entry *Entry) (File, error) {
	in, err := entry.open()
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	stored := &countingHash{Hash: sha256.New()}
	masked := io.LimitReader(p.mask(entry.Name, in), entryLimit(entry.Name)+1)
	put := z.Add
	if isBundle(entry.Name) {
		put = z.AddStored
	}
	if err := put(entry.Name, io.TeeReader(masked, stored)); err != nil {
		return File{}, err
	}
	switch limit := entryLimit(entry.Name); { // checked here, because masking doesn't change the number of bytes
	case stored.n > limit:
		return File{}, tooLarge(limit)
	case entry.Path != "" && entry.Size >= 0 && stored.n != entry.Size:
		return File{}, fmt.Errorf("the file's size changed while it was being stored: %d bytes, want %d", stored.n, entry.Size)
	}
	if p.left -= stored.n; p.left < 0 {
		return File{}, fmt.Errorf("all files together exceed the limit by %d bytes: %w", -p.left, ErrTooLarge)
	}
	return File{Name: entry.Name, Size: stored.n, SHA256: stored.hex()}, nil
}

// limitedWriter writes to w until left bytes are written. A write of more bytes returns ErrTooLarge.
type limitedWriter struct {
	w    io.Writer
	left int64
}

func (c *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, fmt.Errorf("the archive exceeds the limit by %d bytes: %w", int64(len(p))-c.left, ErrTooLarge)
	}
	n, err := c.w.Write(p)
	c.left -= int64(n)
	return n, err
}

// Entry is a file to store in a checkpoint.
type Entry struct {
	Name string // name in the checkpoint, which CheckName must allow
	Path string // path of the file to read; it must be a regular file and not a link
	// Size is the number of bytes to store from the beginning of the file, or -1 for the whole file. With a
	// Size, an earlier state of a growing file can be stored.
	Size int64
	Data []byte // content of the file, if Path is empty
}

// open returns a reader of the bytes to store. It checks the size before anything is packed.
func (e *Entry) open() (io.ReadCloser, error) {
	limit := entryLimit(e.Name)
	if e.Path == "" && int64(len(e.Data)) > limit {
		return nil, tooLarge(limit)
	}
	if e.Path == "" {
		return io.NopCloser(bytes.NewReader(e.Data)), nil
	}
	f, info, err := files.Open(e.Path) // files.Open, because an agent may have replaced the file
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if e.Size >= 0 {
		size = e.Size
	}
	if size > limit {
		return nil, errors.Join(tooLarge(limit), f.Close())
	}
	if e.Size < 0 {
		return f, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, e.Size), f}, nil
}

// tooLarge returns the error for a file that exceeds its limit.
func tooLarge(limit int64) error {
	return fmt.Errorf("it has more than %d bytes: %w", limit, ErrTooLarge)
}
