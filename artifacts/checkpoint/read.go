package checkpoint

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
)

// ReadRequest contains the inputs of Read.
type ReadRequest struct {
	File *os.File // the archive
	Size int64    // size of the archive in bytes
	Keys *Keys    // may be nil
	Dir  string   // empty directory for the unpacked files, private to this user
}

// Read unpacks a checkpoint and returns its manifest and the manifest's digest. After success, Dir contains
// exactly the files that the manifest lists, with mode 0600, and their sizes and hashes have been checked.
// With keys, Read authenticates the whole archive before it unpacks anything. The error is an *Invalid if
// the checkpoint is damaged or forged, ErrSealed if it is sealed and Keys is nil, and ErrNotSigned if Keys
// is set and the checkpoint is not sealed. After an error the caller must remove Dir.
func Read(r ReadRequest) (Manifest, string, error) {
	m, digest, err := r.read()
	if err != nil {
		return Manifest{}, "", fmt.Errorf("read checkpoint: %w", err)
	}
	return m, digest, nil
}

// read does the work of Read. It returns the manifest and its digest.
func (r ReadRequest) read() (m Manifest, d string, err error) {
	if r.Size > maxPacked {
		return m, "", &Invalid{What: fmt.Sprintf("has %d bytes, more than %d", r.Size, maxPacked)}
	}
	z, err := archive.Open(r.File, r.Size, limits(manifestName, headerName, bundleName))
	if err != nil {
		return m, "", invalid("", err)
	}
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	plain, size, from := io.ReaderAt(r.File), r.Size, ""
	switch isSealed := files[headerName] != nil || files[bundleName] != nil; {
	case !isSealed && files[manifestName] == nil:
		return m, "", &Invalid{What: "contains neither " + manifestName + " nor " + headerName}
	case isSealed && r.Keys == nil:
		return m, "", ErrSealed
	case !isSealed && r.Keys != nil:
		return m, "", ErrNotSigned
	case isSealed:
		from = bundleName
		if plain, size, err = r.Keys.open(r.File, files); err != nil {
			return m, "", err
		}
	}
	var data bytes.Buffer
	sums := map[string]*countingHash{} // of all files except the manifest, by name
	lim := limits(manifestName)
	lim.Tee = func(name string) io.Writer {
		if name == manifestName {
			return &data
		}
		sums[name] = &countingHash{Hash: sha256.New()}
		return sums[name]
	}
	if err := archive.Unpack(plain, size, r.Dir, lim); err != nil {
		return m, "", invalid(from, err)
	}
	err = os.Remove(filepath.Join(r.Dir, manifestName))
	if err != nil && !errors.Is(err, os.ErrNotExist) { // without a manifest in the archive, data is empty
		return m, "", invalid(from, err)
	}
	if m, err = decodeManifest(data.Bytes()); err != nil {
		return m, "", err
	}
	return m, digest(data.Bytes()), m.verify(sums)
}

// verify compares the unpacked files with the manifest. Both must contain the same files. It removes the
// verified files from sums.
func (m *Manifest) verify(sums map[string]*countingHash) error {
	for _, f := range m.Files {
		sum, ok := sums[f.Name]
		switch {
		case !ok:
			return &Invalid{fmt.Sprintf("%q", f.Name), "is in the manifest, but not in the archive"}
		case sum.n != f.Size || sum.hex() != f.SHA256:
			return &Invalid{fmt.Sprintf("%q", f.Name), "does not have the size and SHA-256 in the manifest"}
		}
		delete(sums, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		return &Invalid{fmt.Sprintf("%q", name), "is in the archive, but not in the manifest"}
	}
	return nil
}

// decodeManifest decodes and validates manifest.json. The error is an *Invalid.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := decodeJSON(manifestName, data, &m); err != nil {
		return Manifest{}, err
	}
	return m, m.validate()
}

// decodeJSON decodes a JSON file that this program wrote. Fields that are unknown, duplicated, null or in
// another case are errors. The error is an *Invalid, and its Path begins with the file's name.
func decodeJSON(file string, data []byte, to any) error {
	err := jsonstrict.DecodeVersion(data, to, Schema)
	var bad *jsonstrict.Error
	if errors.As(err, &bad) {
		return &Invalid{errorPath(file, bad.Field), bad.What}
	}
	return err
}

// errorPath returns the Path of an Invalid: a file and, if at is not empty, a field in it.
func errorPath(file, at string) string {
	if at == "" {
		return file
	}
	return file + ": " + at
}

// ErrSealed means that a checkpoint is encrypted, but no key was given.
var ErrSealed = errors.New("the checkpoint is encrypted: set the input state-key to the key that it was saved with")

// ErrNotSigned means that a key was given, but the checkpoint is neither encrypted nor signed.
var ErrNotSigned = errors.New("the checkpoint is not signed, although state-key is set: anyone who can store artifacts could have made it")

// ErrTooLarge means that a checkpoint would exceed the limits that Read enforces.
var ErrTooLarge = errors.New("too large for a checkpoint")

// Invalid is the error for a checkpoint that can't be used, because it is damaged or forged, or because
// another program made it.
type Invalid struct {
	Path string // for example "manifest.json: files[2].sha256"; empty for the whole checkpoint
	What string
}

func (e *Invalid) Error() string {
	if e.Path == "" {
		return "the checkpoint " + e.What
	}
	return e.Path + ": " + e.What
}

// invalid converts an error from reading an archive to an *Invalid. An error of this machine's file system
// is returned unchanged, because the checkpoint may be valid.
func invalid(path string, err error) error {
	var machine *fs.PathError
	var malformed *archive.Malformed
	switch {
	case err == nil, errors.As(err, &machine):
		return err
	case errors.As(err, &malformed) && malformed.Entry == "":
		return &Invalid{What: malformed.What}
	case errors.As(err, &malformed):
		return &Invalid{fmt.Sprintf("%.300q", malformed.Entry), malformed.What}
	}
	return &Invalid{path, err.Error()}
}
