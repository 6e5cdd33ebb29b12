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
	"slices"

	"filippo.io/age"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// header is the readable part of a sealed checkpoint. The MAC authenticates the header, and the header's
// hash authenticates bundle.age. Both are checked before anything is decrypted.
type header struct {
	Schema int    `json:"schema"`
	Key    string `json:"key"` // fingerprint of the key that decrypts bundle.age
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	MAC    string `json:"mac"` // MAC of this header with an empty MAC
}

// sign computes the MAC and returns the encoded header that contains it.
func (h header) sign(id *age.X25519Identity) ([]byte, error) {
	h.MAC = ""
	data, err := encodeJSON(h)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derive(id, forHeader))
	mac.Write(data)
	h.MAC = hex.EncodeToString(mac.Sum(nil))
	return encodeJSON(h)
}

// seal writes the sealed archive: the encrypted plain archive, then the header.
func (p *packer) seal(w io.Writer) error {
	id := p.Keys.all[0]
	z := zip.NewWriter(w)
	out, err := z.CreateHeader(&zip.FileHeader{Name: bundleName, Method: zip.Store})
	if err != nil {
		return err
	}
	sum := &countingHash{Hash: sha256.New()}
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

// open authenticates a sealed archive: its header, then bundle.age. It returns a reader of the decrypted content,
// and its size. Blocks are decrypted while they are read, so the plain archive is never stored on disk.
func (k *Keys) open(file io.ReaderAt, files map[string]*zip.File) (io.ReaderAt, int64, error) {
	if files[headerName] == nil || files[bundleName] == nil || len(files) != 2 {
		return nil, 0, &Invalid{What: fmt.Sprintf("contains files other than %s and %s", headerName, bundleName)}
	}
	data, err := archive.Read(files[headerName], entryLimit(headerName))
	if err != nil {
		return nil, 0, invalid(headerName, err)
	}
	var h header
	if err := decodeJSON(headerName, data, &h); err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(k.all, func(id *age.X25519Identity) bool { return fingerprint(id) == h.Key })
	if i < 0 {
		return nil, 0, &Invalid{headerName, fmt.Sprintf("is encrypted with the key %q, which is not one of the %d keys in state-key", h.Key, len(k.all))}
	}
	want, err := h.sign(k.all[i])
	if err != nil {
		return nil, 0, err
	}
	if !hmac.Equal(want, data) {
		return nil, 0, &Invalid{headerName, "has a wrong MAC: it was changed or made without the key"}
	}
	at, err := files[bundleName].DataOffset()
	if err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	bundle, sum := io.NewSectionReader(file, at, h.Size), &countingHash{Hash: sha256.New()}
	if _, err := io.Copy(sum, bundle); err != nil {
		return nil, 0, invalid(bundleName, err)
	}
	if sum.hex() != h.SHA256 || sum.n != h.Size {
		return nil, 0, &Invalid{bundleName, "does not match the header"}
	}
	plain, size, err := age.DecryptReaderAt(bundle, h.Size, k.all[i])
	return plain, size, invalid(bundleName, err)
}

// countingHash is a hash that also counts the bytes written to it.
type countingHash struct {
	hash.Hash

	n int64
}

func (s *countingHash) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return s.Hash.Write(p)
}

// hex returns the hash of all bytes in hex.
func (s *countingHash) hex() string { return hex.EncodeToString(s.Sum(nil)) }
