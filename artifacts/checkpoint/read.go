package checkpoint

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// Reading says what to read.
type Reading struct {
	File *os.File // the archive
	Size int64    // of the archive, in bytes
	Keys *Keys    // nil: none
	Dir  string   // an empty folder, where nobody else reads: where the files go
}

// Read unpacks a checkpoint and returns its manifest and the manifest's digest. In Dir
// are exactly the files of the manifest then, with its sizes and hashes, with mode 0600.
// With keys nothing is unpacked before all of it is known to be ours. A checkpoint that
// isn't right is an *Invalid; one that needs a key, ErrSealed; one that is not signed
// though there is a key, ErrNotSigned. After an error Dir is to be removed.
func Read(r Reading) (Manifest, string, error) {
	m, digest, err := r.read()
	if err != nil {
		return Manifest{}, "", fmt.Errorf("read checkpoint: %w", err)
	}
	return m, digest, nil
}

func (r Reading) read() (m Manifest, d string, err error) {
	files, err := r.entries()
	if err != nil {
		return m, "", err
	}
	u := unpacked{sums: map[string]*sum{}}
	if r.Keys == nil {
		err = invalid("", u.unpack(r.File, r.Size, r.Dir))
	} else {
		err = u.unseal(r, files)
	}
	if err != nil {
		return m, "", err
	}
	if m, err = decodeManifest(u.manifest.Bytes()); err != nil {
		return m, "", err
	}
	return m, digest(u.manifest.Bytes()), u.verify(&m)
}

// entries looks at the directory of the archive, and at nothing in it.
func (r Reading) entries() (map[string]*zip.File, error) {
	if r.Size > maxPacked {
		return nil, &Invalid{What: fmt.Sprintf("has %d bytes, more than %d", r.Size, maxPacked)}
	}
	z, err := archive.Open(r.File, r.Size, limits(manifestName, headerName, bundleName))
	if err != nil {
		return nil, invalid("", err)
	}
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	isSealed := files[headerName] != nil || files[bundleName] != nil
	switch {
	case !isSealed && files[manifestName] == nil:
		return nil, &Invalid{What: "holds neither " + manifestName + " nor " + headerName}
	case isSealed && r.Keys == nil:
		return nil, ErrSealed
	case !isSealed && r.Keys != nil:
		return nil, ErrNotSigned
	}
	return files, nil
}

// unpacked is what the archive of a run's files has been unpacked to.
type unpacked struct {
	manifest bytes.Buffer
	sums     map[string]*sum // of the other files, by their names
}

// unseal unpacks a sealed checkpoint.
func (u *unpacked) unseal(r Reading, files map[string]*zip.File) error {
	box, err := openSealed(r.Keys, files)
	if err != nil {
		return err
	}
	plain, size, err := box.decrypt(r.File)
	if err != nil {
		return err
	}
	return invalid(bundleName, u.unpack(plain, size, r.Dir))
}

// unpack unpacks an archive of the run's files and the manifest, of which the folder
// gets the files alone.
func (u *unpacked) unpack(r io.ReaderAt, size int64, dir string) error {
	lim := limits(manifestName)
	lim.Also = func(name string) io.Writer {
		if name == manifestName {
			return &u.manifest
		}
		u.sums[name] = &sum{Hash: sha256.New()}
		return u.sums[name]
	}
	if err := archive.Unpack(r, size, dir, lim); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(dir, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the manifest is empty then
	}
	return err
}

// verify holds what was unpacked against the manifest: all of its files are there, and
// no others.
func (u *unpacked) verify(m *Manifest) error {
	for _, f := range m.Files {
		sum, ok := u.sums[f.Name]
		switch {
		case !ok:
			return &Invalid{fmt.Sprintf("%q", f.Name), "is in the manifest, but not in the archive"}
		case sum.n != f.Size || sum.hex() != f.SHA256:
			return &Invalid{fmt.Sprintf("%q", f.Name), "has not the size and SHA-256 that the manifest gives"}
		}
		delete(u.sums, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(u.sums)) {
		return &Invalid{fmt.Sprintf("%q", name), "is in the archive, but not in the manifest"}
	}
	return nil
}
