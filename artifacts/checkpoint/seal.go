package checkpoint

import (
	"archive/zip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// header is the clear part of a sealed checkpoint. All of bundle.age is bound to
// it by its hash, so that nothing of it is looked at before it is known to be
// ours.
type header struct {
	Schema int    `json:"schema"`
	Key    string `json:"key"` // fingerprint of the key that opens it
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	MAC    string `json:"mac"` // of this header with an empty mac
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
	z := zip.NewWriter(w)
	out, err := z.CreateHeader(&zip.FileHeader{Name: bundleName, Method: zip.Store})
	if err != nil {
		return err
	}
	sum := &sum{Hash: sha256.New()}
	plain, err := age.Encrypt(io.MultiWriter(out, sum), id.Recipient())
	if err != nil {
		return err
	}
	if err := p.pack(plain); err != nil {
		return err
	}
	if err := plain.Close(); err != nil {
		return err
	}
	h := header{Schema: Schema, Key: fingerprint(id), Size: sum.n, SHA256: sum.hex()}
	data, err := h.sign(id)
	if err != nil {
		return err
	}
	if out, err = z.CreateHeader(&zip.FileHeader{Name: headerName, Method: zip.Store}); err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, z.Close())
}

// readHeader reads the header of a sealed archive, and finds the key that it was signed with.
func (k *Keys) readHeader(f *zip.File) (h header, id *age.X25519Identity, err error) {
	data, err := archive.Read(f, entryLimit(headerName))
	if err != nil {
		return h, nil, invalid(headerName, err)
	}
	if err := decodeJSON(headerName, data, &h); err != nil {
		return h, nil, err
	}
	id, ok := k.find(h.Key)
	if !ok {
		return h, nil, &Invalid{headerName, fmt.Sprintf("sealed with the key %q, which is none of the %d in state-key", h.Key, len(k.all))}
	}
	want, err := h.sign(id)
	if err == nil && !hmac.Equal(want, data) {
		err = &Invalid{headerName, "has not the MAC of its key: it was changed, or made by somebody else"}
	}
	return h, id, err
}

// open returns what bundle.age in a sealed archive holds, when each byte of it is held against the header, and
// the size. Each piece is decrypted when it is read, so that it lies nowhere in clear before it is unpacked.
func (k *Keys) open(file io.ReaderAt, files map[string]*zip.File) (io.ReaderAt, int64, error) {
	if files[headerName] == nil || files[bundleName] == nil || len(files) != 2 {
		return nil, 0, &Invalid{What: fmt.Sprintf("holds other files than %s and %s", headerName, bundleName)}
	}
	h, id, err := k.readHeader(files[headerName])
	if err != nil {
		return nil, 0, err
	}
	at, err := files[bundleName].DataOffset()
	if err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	bundle, sum := io.NewSectionReader(file, at, h.Size), &sum{Hash: sha256.New()}
	if _, err := io.Copy(sum, bundle); err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	if sum.hex() != h.SHA256 || sum.n != h.Size {
		return nil, 0, &Invalid{bundleName, "is not the one that the header is of"}
	}
	plain, size, err := age.DecryptReaderAt(bundle, h.Size, id)
	return plain, size, invalid(bundleName, err)
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
