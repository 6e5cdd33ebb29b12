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

// ReadRequest says what to read.
type ReadRequest struct {
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
func Read(r ReadRequest) (Manifest, string, error) {
	m, digest, err := r.read()
	if err != nil {
		return Manifest{}, "", fmt.Errorf("read checkpoint: %w", err)
	}
	return m, digest, nil
}

func (r ReadRequest) read() (m Manifest, d string, err error) {
	files, err := r.entries()
	plain, size, from := io.ReaderAt(r.File), r.Size, ""
	if err == nil && r.Keys != nil {
		from = bundleName
		plain, size, err = r.Keys.open(r.File, files)
	}
	if err != nil {
		return m, "", err
	}
	data, sums, err := unpack(plain, size, r.Dir)
	if err != nil {
		return m, "", invalid(from, err)
	}
	if m, err = decodeManifest(data); err != nil {
		return m, "", err
	}
	return m, digest(data), m.verify(sums)
}

// entries looks at the directory of the archive, and at nothing in it.
func (r ReadRequest) entries() (map[string]*zip.File, error) {
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

// unpack unpacks an archive of the run's files and the manifest. It returns the manifest, and
// what the other files hold, by their names; the folder gets these alone.
func unpack(r io.ReaderAt, size int64, dir string) ([]byte, map[string]*sum, error) {
	var manifest bytes.Buffer
	sums := map[string]*sum{}
	lim := limits(manifestName)
	lim.Tee = func(name string) io.Writer {
		if name == manifestName {
			return &manifest
		}
		sums[name] = &sum{Hash: sha256.New()}
		return sums[name]
	}
	if err := archive.Unpack(r, size, dir, lim); err != nil {
		return nil, nil, err
	}
	err := os.Remove(filepath.Join(dir, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the manifest is empty then
	}
	return manifest.Bytes(), sums, err
}

// verify holds what was unpacked against the manifest: all of its files are there, and
// no others.
func (m *Manifest) verify(sums map[string]*sum) error {
	for _, f := range m.Files {
		sum, ok := sums[f.Name]
		switch {
		case !ok:
			return &Invalid{fmt.Sprintf("%q", f.Name), "is in the manifest, but not in the archive"}
		case sum.n != f.Size || sum.hex() != f.SHA256:
			return &Invalid{fmt.Sprintf("%q", f.Name), "has not the size and SHA-256 that the manifest gives"}
		}
		delete(sums, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		return &Invalid{fmt.Sprintf("%q", name), "is in the archive, but not in the manifest"}
	}
	return nil
}
