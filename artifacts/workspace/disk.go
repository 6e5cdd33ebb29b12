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
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// modeDir is the mode of a directory in itemOnDisk.
const modeDir = "040000"

// blobHash returns a hash that computes the object id of a blob of the given size.
func blobHash(size int64) hash.Hash {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// itemOnDisk returns the mode and the object id that git, without filters, would give to the file at a
// path. The result is zero if the path doesn't exist, or if a link or a file is in place of one of its
// directories. Directories and special files have no id.
func itemOnDisk(root *os.Root, p string) (item, error) {
	var info fs.FileInfo
	at := ""
	for name := range strings.SplitSeq(p, "/") {
		if info != nil && !info.IsDir() {
			return item{}, nil
		}
		at = path.Join(at, name)
		var err error
		if info, err = root.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			return item{}, nil
		} else if err != nil {
			return item{}, err
		}
	}
	switch {
	case info.IsDir():
		return item{mode: modeDir}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(p)
		h := blobHash(int64(len(target)))
		_, _ = io.WriteString(h, target) // never fails
		return item{modeLink, hex.EncodeToString(h.Sum(nil))}, err
	case !info.Mode().IsRegular():
		return item{mode: "special"}, nil
	}
	f, info, err := files.OpenIn(root, p)
	if err != nil {
		return item{}, err
	}
	defer f.Close()
	h := blobHash(info.Size())
	_, err = io.CopyN(h, f, info.Size())
	return item{fileMode(info), hex.EncodeToString(h.Sum(nil))}, err
}

// isNotDir reports whether an error means that a directory in a path is a file.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
