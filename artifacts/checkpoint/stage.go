package checkpoint

import (
	"archive/zip"
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
)

// The folder that files wait in until they are verified, and what is in it.
const (
	stageDir = ".checkpoint"
	inner    = stageDir + "/bundle.zip"
	unpacked = stageDir + "/files"
)

// stage is the folder that a checkpoint is read to.
type stage struct {
	dir  string
	root *os.Root
}

// newStage prepares an empty folder.
func newStage(dir string) (*stage, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, root: root}
	left, err := s.entries(".")
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("folder %q is not empty", dir)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if err := root.MkdirAll(unpacked, 0o700); err != nil {
		return nil, errors.Join(err, s.close(err))
	}
	return s, nil
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *stage) entries(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(s.root.FS(), dir) }

// close takes away the stage, and after an error everything else.
func (s *stage) close(failed error) error {
	defer s.root.Close()
	if failed == nil {
		return s.root.RemoveAll(stageDir)
	}
	left, err := s.entries(".")
	for _, e := range left {
		err = errors.Join(err, s.root.RemoveAll(e.Name()))
	}
	return err
}

// unseal unpacks a sealed checkpoint.
func (s *stage) unseal(r Reading, files map[string]*zip.File) (*sealed, error) {
	box, err := openSealed(r.Keys, files)
	if err != nil {
		return nil, err
	}
	if err := box.verify(r.File, r.Size); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(inner, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := box.decrypt(f); err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	err = invalid(bundleName, archive.Unpack(f, size, s.path(unpacked), limits(manifestName, oldMACName)))
	return box, errors.Join(err, s.root.RemoveAll(unpacked+"/"+oldMACName))
}

// verify compares the unpacked files with the manifest, and the manifest with the
// header if there is one.
func (s *stage) verify(box *sealed) (Manifest, string, error) {
	data, err := s.take(manifestName)
	if err != nil {
		return Manifest{}, "", err
	}
	m, err := decodeManifest(data)
	if err != nil {
		return Manifest{}, "", err
	}
	if box != nil && m.Generation != box.header.Generation {
		return Manifest{}, "", &Invalid{place(headerName, "generation"),
			fmt.Sprintf("is %d, but that of the manifest is %d", box.header.Generation, m.Generation)}
	}
	return m, digest(data), s.compare(m.Files)
}

// take reads a small file and removes it.
func (s *stage) take(name string) ([]byte, error) {
	at := unpacked + "/" + name
	data, err := s.root.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Invalid{name, "is missing"}
	}
	if err != nil {
		return nil, err
	}
	return data, s.root.Remove(at)
}

// compare checks that the unpacked files are those of the manifest, all of them and no
// others.
func (s *stage) compare(files []File) error {
	there := map[string]bool{}
	base, err := fs.Sub(s.root.FS(), unpacked)
	if err != nil {
		return err
	}
	err = fs.WalkDir(base, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			there[name] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		if !there[f.Name] {
			return &Invalid{fmt.Sprintf("%q", f.Name), "is in the manifest, but not in the archive"}
		}
		delete(there, f.Name)
		if err := s.checkFile(f); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		return &Invalid{fmt.Sprintf("%q", name), "is in the archive, but not in the manifest"}
	}
	return nil
}

func (s *stage) checkFile(f File) error {
	in, err := s.root.Open(unpacked + "/" + f.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := &sum{Hash: sha256.New()}
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	if sum.n != f.Size || sum.hex() != f.SHA256 {
		return &Invalid{fmt.Sprintf("%q", f.Name), "has not the size and SHA-256 that the manifest gives"}
	}
	return nil
}

// publish moves the files to where they belong.
func (s *stage) publish() error {
	top, err := s.entries(unpacked)
	for _, e := range top {
		if err == nil {
			err = s.root.Rename(unpacked+"/"+e.Name(), e.Name())
		}
	}
	return err
}
