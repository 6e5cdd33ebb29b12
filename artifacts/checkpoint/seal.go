package checkpoint

import (
	"archive/zip"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"filippo.io/age"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// header is the clear part of a sealed checkpoint. All of bundle.age is bound to
// it by its hash, so that nothing of it is looked at before it is known to be
// ours.
type header struct {
	Schema     int    `json:"schema"`
	Generation int    `json:"generation"`
	Key        string `json:"key"` // fingerprint of the key that opens it
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	MAC        string `json:"mac"` // of this header with an empty mac
}

// sign returns the bytes of the header with its MAC.
func (h header) sign(id *age.X25519Identity) ([]byte, error) {
	h.MAC = ""
	data, err := encodeJSON(h)
	if err != nil {
		return nil, err
	}
	h.MAC = sign(id, forHeader, data)
	return encodeJSON(h)
}

// seal writes the sealed archive.
func (p *packing) seal(w io.Writer) error {
	id := p.Keys.all[0]
	sum := &sum{Hash: sha256.New()}
	return frame(w, func(w io.Writer) error {
		plain, err := age.Encrypt(io.MultiWriter(w, sum), id.Recipient())
		if err != nil {
			return err
		}
		if err := p.pack(plain); err != nil {
			return err
		}
		return plain.Close()
	}, func() ([]byte, error) {
		h := header{Schema: Schema, Generation: p.manifest.Generation, Key: fingerprint(id), Size: sum.n, SHA256: sum.hex()}
		return h.sign(id)
	})
}

// frame writes the outer archive, the same bytes for the same content: Read
// compares them, as the bytes between the files are in no MAC.
func frame(w io.Writer, bundle func(io.Writer) error, header func() ([]byte, error)) error {
	z := zip.NewWriter(w)
	out, err := z.CreateHeader(&zip.FileHeader{Name: bundleName, Method: zip.Store})
	if err != nil {
		return err
	}
	if err := bundle(out); err != nil {
		return err
	}
	if out, err = z.CreateHeader(&zip.FileHeader{Name: headerName, Method: zip.Store}); err != nil {
		return err
	}
	data, err := header()
	if err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	return z.Close()
}

// sealed is a sealed archive whose header is known to be ours.
type sealed struct {
	header header
	data   []byte // of header.json
	id     *age.X25519Identity
	bundle *zip.File
}

// openSealed reads the header of a sealed archive and finds the key that it was
// signed with.
func openSealed(keys *Keys, files map[string]*zip.File) (*sealed, error) {
	h, b := files[headerName], files[bundleName]
	if h == nil || b == nil || len(files) != 2 {
		return nil, &Invalid{What: fmt.Sprintf("holds other files than %s and %s", headerName, bundleName)}
	}
	s := &sealed{bundle: b}
	var err error
	if s.data, err = readEntry(h); err != nil {
		return nil, err
	}
	if err := decodeJSON(headerName, s.data, &s.header); err != nil {
		return nil, err
	}
	id, ok := keys.find(s.header.Key)
	if !ok {
		return nil, &Invalid{headerName, fmt.Sprintf("sealed with the key %q, which is none of the %d in state-key", s.header.Key, len(keys.all))}
	}
	s.id = id
	want, err := s.header.sign(id)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(want, s.data) {
		return nil, &Invalid{headerName, "has not the MAC of its key: it was changed, or made by somebody else"}
	}
	return s, nil
}

// verify holds every byte of the archive against its header.
func (s *sealed) verify(file io.ReaderAt, size int64) error {
	in, err := s.bundle.Open()
	if err != nil {
		return invalid(bundleName, err)
	}
	defer in.Close()
	sum := &sum{Hash: sha256.New()}
	same := &comparing{r: file}
	from := &source{r: in}
	err = frame(same, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), from)
		return err
	}, func() ([]byte, error) { return s.data, nil })
	switch {
	case from.err != nil:
		return invalid(bundleName, from.err)
	case errors.Is(err, errDiffers), err == nil && same.off != size:
		return &Invalid{What: "has other bytes than its files and their directory"}
	case err != nil:
		return err
	case sum.hex() != s.header.SHA256 || sum.n != s.header.Size:
		return &Invalid{bundleName, "is not the one that the header is of"}
	}
	return nil
}

// decrypt returns what bundle.age in the archive holds, and its size. Each piece is decrypted
// when it is read, so that it lies nowhere in clear before it is unpacked.
func (s *sealed) decrypt(file io.ReaderAt) (io.ReaderAt, int64, error) {
	at, err := s.bundle.DataOffset()
	if err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	plain, size, err := age.DecryptReaderAt(io.NewSectionReader(file, at, s.header.Size), s.header.Size, s.id)
	if err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	return &window{r: plain, size: size}, size, nil
}

// readEntry reads a small file of an archive.
func readEntry(f *zip.File) ([]byte, error) {
	data, err := archive.Read(f, entryLimit(f.Name))
	return data, invalid(f.Name, err)
}

// sum is a hash that counts.
type sum struct {
	hash.Hash

	n int64
}

func (s *sum) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return s.Hash.Write(p)
}

func (s *sum) hex() string { return hex.EncodeToString(s.Sum(nil)) }

// source remembers an error of reading, to tell it from one of writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// errDiffers is the error of a comparing writer.
var errDiffers = errors.New("other bytes")

// comparing takes only the bytes that a file has.
type comparing struct {
	r   io.ReaderAt
	off int64
	buf []byte
}

func (c *comparing) Write(p []byte) (int, error) {
	c.buf = slices.Grow(c.buf[:0], len(p))[:len(p)]
	n, err := c.r.ReadAt(c.buf, c.off)
	if n < len(p) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !bytes.Equal(c.buf[:n], p) {
		return 0, errDiffers
	}
	c.off += int64(n)
	return n, nil
}
