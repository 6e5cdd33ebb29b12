package workspace

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/sha256"
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

// writeFiles removes and writes the files of a worktree. Each file is written under a temporary name and
// then renamed, so that an interrupted restore leaves no partial file. The temporary name depends only on
// the path, so the next restore finds and removes a leftover temporary file.
func (w *restorer) writeFiles(ctx context.Context, p *plan, t *treePlan) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range t.remove {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) { // directories that become empty are removed too
			if info, err := root.Lstat(dir); err != nil || !info.IsDir() || root.Remove(dir) != nil {
				break
			}
		}
	}
	for path, want := range t.want.work {
		if want.mode == modeSub { // without the directory, git would report the submodule as deleted
			if err := root.MkdirAll(path, 0o777); err != nil {
				return err
			}
		}
	}
	var ids []string
	for _, path := range t.write {
		ids = append(ids, t.want.work[path].id)
	}
	return w.git.eachBlob(ctx, p.common, ids, func(i int, blob *io.LimitedReader) error {
		path := t.write[i]
		if err := replaceFile(root, path, t.want.work[path].mode, blob); err != nil {
			return fmt.Errorf("write %q: %w", path, err)
		}
		return nil
	})
}

// replaceFile writes a file or a link. It replaces a file, a link or an empty directory at the path.
func replaceFile(root *os.Root, p, mode string, blob *io.LimitedReader) error {
	dir := path.Dir(p)
	if err := makeDir(root, dir); err != nil {
		return err
	}
	if info, err := root.Lstat(p); err == nil && info.IsDir() {
		if err := root.Remove(p); err != nil {
			return err
		}
	}
	sum := sha256.Sum256([]byte(p))
	beside := path.Join(dir, ".raymond-"+hex.EncodeToString(sum[:8]))
	if err := root.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var err error
	if mode == modeLink {
		target := make([]byte, min(blob.N, maxLink))
		if _, err = io.ReadFull(blob, target); err == nil {
			err = root.Symlink(string(target), beside)
		}
	} else {
		err = writeFile(root, beside, mode, blob)
	}
	if err != nil {
		return err
	}
	return root.Rename(beside, p)
}

var errChanged = errors.New("it changed while the work was restored")

// makeDir creates a directory and its parents. If it finds a link or a file in the path, it returns
// errChanged.
func makeDir(root *os.Root, dir string) error {
	prefix := ""
	for name := range strings.SplitSeq(dir, "/") {
		prefix = path.Join(prefix, name)
		info, err := root.Lstat(prefix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = root.Mkdir(prefix, 0o777)
		case err == nil && !info.IsDir():
			err = &fs.PathError{Op: "mkdir", Path: prefix, Err: errChanged}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const maxLink = 1 << 16

// writeFile creates a file with the content of a blob. If the blob is incomplete, it returns an error.
func writeFile(root *os.Root, p, mode string, blob *io.LimitedReader) error {
	perm := os.FileMode(0o666)
	if mode == modeExec {
		perm = 0o777
	}
	f, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, blob, blob.N)
	return errors.Join(err, f.Close())
}

// eachBlob calls take for each blob in the order of ids. N of the reader is initially the size of the blob,
// and take must read the blob completely.
func (t *tool) eachBlob(ctx context.Context, common string, ids []string, take func(i int, blob *io.LimitedReader) error) error {
	if len(ids) == 0 {
		return nil
	}
	c := call{dir: common, bare: common, in: strings.NewReader(lines(ids...))}
	return t.runPiped(ctx, c, func(out io.Reader) error {
		r := bufio.NewReaderSize(out, 1<<16)
		for i, id := range ids {
			line, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			var size int64
			if n, err := fmt.Sscanf(line, id+" blob %d\n", &size); n != 1 || err != nil {
				return fmt.Errorf("git cat-file: %q is not the blob %s", strings.TrimSpace(line), id)
			}
			blob := &io.LimitedReader{R: r, N: size}
			if err := take(i, blob); err != nil {
				return err
			}
			if _, err := r.Discard(1); err != nil || blob.N > 0 {
				return fmt.Errorf("git cat-file: blob %s is cut off", id)
			}
		}
		return nil
	}, "cat-file", "--batch")
}

// fileMode returns git's mode of a regular file.
func fileMode(info os.FileInfo) string {
	if info.Mode()&0o100 != 0 {
		return modeExec
	}
	return modeFile
}

// formatBytes formats a number of bytes for messages.
func formatBytes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

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
