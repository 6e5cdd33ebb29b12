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
	unpacked = stageDir + "/files"
)

// stage is the folder that a checkpoint is read to.
type stage struct {
	dir  string
	root *os.Root
	sums map[string]*sum // of the unpacked files, by their names
}

// newStage prepares an empty folder.
func newStage(dir string) (*stage, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, root: root, sums: map[string]*sum{}}
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
	plain, size, err := box.decrypt(r.File)
	if err != nil {
		return nil, err
	}
	return box, invalid(bundleName, s.unpack(plain, size))
}

// unpack unpacks an archive of the run's files and the manifest, and works out their sums.
func (s *stage) unpack(r io.ReaderAt, size int64) error {
	lim := limits(manifestName)
	lim.Also = func(name string) io.Writer {
		s.sums[name] = &sum{Hash: sha256.New()}
		return s.sums[name]
	}
	return archive.Unpack(r, size, filepath.Join(s.dir, filepath.FromSlash(unpacked)), lim)
}

// verify compares the unpacked files with the manifest, and the manifest with the
// header if there is one.
func (s *stage) verify(box *sealed) (Manifest, string, error) {
	data, err := s.takeManifest()
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

// takeManifest reads the manifest and removes it.
func (s *stage) takeManifest() ([]byte, error) {
	at := unpacked + "/" + manifestName
	data, err := s.root.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Invalid{manifestName, "is missing"}
	}
	if err != nil {
		return nil, err
	}
	delete(s.sums, manifestName)
	return data, s.root.Remove(at)
}

// compare checks that the unpacked files are those of the manifest, all of them and no
// others.
func (s *stage) compare(files []File) error {
	for _, f := range files {
		sum, ok := s.sums[f.Name]
		switch {
		case !ok:
			return &Invalid{fmt.Sprintf("%q", f.Name), "is in the manifest, but not in the archive"}
		case sum.n != f.Size || sum.hex() != f.SHA256:
			return &Invalid{fmt.Sprintf("%q", f.Name), "has not the size and SHA-256 that the manifest gives"}
		}
		delete(s.sums, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		return &Invalid{fmt.Sprintf("%q", name), "is in the archive, but not in the manifest"}
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
