package checkpoint

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// Reading says what to read.
type Reading struct {
	File *os.File // the archive
	Size int64    // of the archive, in bytes
	Keys *Keys    // nil: none
	Dir  string   // an empty folder: where the files go
}

// Read unpacks a checkpoint and returns its manifest and the manifest's digest.
// Only when all of its files are verified do files appear in Dir: exactly those of
// the manifest, with its sizes and hashes, with mode 0600. A checkpoint that
// isn't right is an *Invalid; one that needs a key, ErrSealed; one that is not
// signed though there is a key, ErrNotSigned. After an error Dir is empty, but
// for a crash, so it should be where nobody else reads.
func Read(r Reading) (Manifest, string, error) {
	m, digest, err := read(r)
	if err != nil {
		return Manifest{}, "", fmt.Errorf("read checkpoint: %w", err)
	}
	return m, digest, nil
}

func read(r Reading) (m Manifest, digest string, err error) {
	z, err := openArchive(r)
	if err != nil {
		return m, "", err
	}
	st, err := newStage(r.Dir)
	if err != nil {
		return m, "", err
	}
	defer func() { err = errors.Join(err, st.close(err)) }()
	var box *sealed
	if r.Keys != nil {
		box, err = st.unseal(r, z)
	} else {
		err = invalid("", st.unpack(r.File, r.Size))
	}
	if err != nil {
		return m, "", err
	}
	m, digest, err = st.verify(box)
	if err != nil {
		return m, "", err
	}
	return m, digest, st.publish()
}

// openArchive looks at the directory of the archive, and at nothing in it.
func openArchive(r Reading) (map[string]*zip.File, error) {
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
