package workspace

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// modeDir is what at says of a folder.
const modeDir = "040000"

// disk looks at the files of a worktree as git would name them without filters.
type disk struct {
	root *os.Root
	dirs map[string]bool // whether a path is a real folder
}

func newDisk(root *os.Root) *disk {
	return &disk{root: root, dirs: map[string]bool{".": true}}
}

// blobHash returns what makes the object id of a blob of a size from its bytes.
func blobHash(size int64) hash.Hash {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// at returns the mode and the object id of what is at a path: neither for nothing,
// also when the way there leads through a link, and no id for folders.
func (d *disk) at(p string) (item, error) {
	if ok, err := d.isDir(path.Dir(p)); !ok {
		return item{}, err
	}
	info, err := d.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return item{}, nil
	case err != nil:
		return item{}, err
	case info.IsDir():
		return item{mode: modeDir}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := d.root.Readlink(p)
		h := blobHash(int64(len(target)))
		_, _ = io.WriteString(h, target) // a hash takes all
		return item{modeLink, hex.EncodeToString(h.Sum(nil))}, err
	case !info.Mode().IsRegular():
		return item{mode: "special"}, nil
	}
	f, info, err := files.OpenIn(d.root, p)
	if err != nil {
		return item{}, err
	}
	defer f.Close()
	h := blobHash(info.Size())
	_, err = io.CopyN(h, f, info.Size())
	return item{fileMode(info), hex.EncodeToString(h.Sum(nil))}, err
}

// isDir reports whether a path is a folder that is reached through folders alone.
func (d *disk) isDir(p string) (bool, error) {
	if is, known := d.dirs[p]; known {
		return is, nil
	}
	is, err := d.isDir(path.Dir(p))
	if err != nil {
		return false, err
	}
	if is {
		info, err := d.root.Lstat(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		is = err == nil && info.IsDir()
	}
	d.dirs[p] = is
	return is, nil
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
