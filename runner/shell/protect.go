package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
)

// maxDigested is the largest number of bytes of protected files that are read. Agents can create
// sparse files of terabytes, which must not keep a run from ending.
const maxDigested = 2 << 30

// maxCopied is the largest number of bytes of protected files that are copied.
const maxCopied = 64 << 20

// SaveProtected implements runner.Verifier. Patterns match slash-separated paths relative to the
// directory; ** matches any number of folders. Symbolic links are not followed: the digest of a
// link contains its target. A file that can't be read has the digest "unreadable". A file that
// exceeds what is left of maxDigested is identified by its size and its modification time.
func (v Verifier) SaveProtected(o runner.Order) map[string]string {
	root, err := o.Cage.OpenDir(o.Dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	sums := digests(root, o.Protect)
	// The copies are saved in a new folder that no other process writes to. Without copies, nothing
	// can be restored, and Verify reports that.
	if os.RemoveAll(o.Copies) != nil || os.MkdirAll(o.Copies, 0o700) != nil {
		return sums
	}
	copies, err := os.OpenRoot(o.Copies)
	if err != nil {
		return sums
	}
	defer copies.Close()
	room := int64(maxCopied)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		in, info, err := files.OpenIn(root, pathOf(name))
		if err == nil && info.Size() <= room {
			room -= info.Size()
			err = copyInto(copies, copyOf(name), in, info.Mode().Perm())
		}
		_ = errors.Join(err, in.Close()) // if copying fails, the file has no copy and can't be restored
	}
	return sums
}

// copyOf returns the name under which the copy of a file is saved.
func copyOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// copyInto copies the data in a reader to a new file in root. If that fails, it removes the new file.
func copyInto(root *os.Root, name string, in io.Reader, perm fs.FileMode) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxCopied))
	err = errors.Join(err, out.Chmod(perm), out.Close())
	if err != nil {
		err = errors.Join(err, root.Remove(name))
	}
	return err
}

// restore restores protected files that have changed or are missing, and removes new ones. It
// returns the names of all these files (differ), and of those that it could not restore or remove
// (lost).
func restore(c runner.Order) (differ, lost []string) {
	root, err := c.Cage.OpenDir(c.Dir)
	if err != nil { // the directory was replaced
		differ = changed(c.Protected, map[string]string{})
		return differ, differ
	}
	defer root.Close()
	differ = changed(c.Protected, digests(root, c.Protect))
	for _, name := range differ {
		if err := restoreFile(root, c, name); err != nil {
			lost = append(lost, name)
		}
	}
	return differ, lost
}

// restoreFile restores one protected file from its copy, or removes it if it is new.
func restoreFile(root *os.Root, c runner.Order, name string) error {
	path := pathOf(name)
	saved, isThere := c.Protected[name]
	target, isLink := strings.CutPrefix(saved, "link ")
	in, info, err := files.Open(filepath.Join(c.Copies, copyOf(name)))
	switch {
	case err == nil:
		defer in.Close()
	case isThere && !isLink:
		return err
	}
	if !isThere {
		return root.RemoveAll(path)
	}
	// Make the folders before RemoveAll is called. If there were a link in place of a folder,
	// RemoveAll would remove files outside.
	if err := errors.Join(makeFolders(root, filepath.Dir(path)), root.RemoveAll(path)); err != nil {
		return err
	}
	if isLink {
		return root.Symlink(target, path)
	}
	return copyInto(root, path, in, info.Mode().Perm())
}

// makeFolders creates dir and its parents where they are missing. It also replaces links and files
// that an agent has put in the place of these folders.
func makeFolders(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeFolders(root, filepath.Dir(dir)); err != nil {
		return err
	}
	info, err := root.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.Join(root.Remove(dir), fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return root.Mkdir(dir, 0o755)
	}
	return err
}

// digests returns a digest of each file in a folder that matches one of the patterns. The keys are
// the printable names of the files. Folders named .git are skipped.
func digests(root *os.Root, patterns []string) map[string]string {
	out := map[string]string{}
	room := int64(maxDigested)
	// A folder that can't be read, or whose name is not UTF-8, is skipped with its files.
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		isProtected := slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := doublestar.Match(p, path)
			return err == nil && ok
		})
		if isProtected {
			out[printable(path)] = digest(root, path, d, &room)
		}
		return nil
	})
	return out
}

// printable quotes a name that a state file can't contain exactly, or that would break a line of a
// report. It returns any other name unchanged.
func printable(name string) string {
	if quoted := strconv.Quote(name); strings.ContainsRune(quoted, '\\') {
		return quoted
	}
	return name
}

// pathOf returns the path of a file from the name that printable returned for it.
func pathOf(name string) string {
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return filepath.FromSlash(name)
}

// digest returns a text that changes when the file changes. It is short, because a state file
// contains many digests. digest subtracts the number of bytes that it reads from room.
func digest(root *os.Root, path string, d fs.DirEntry, room *int64) string {
	path = filepath.FromSlash(path)
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(path)
		if err != nil {
			return "unreadable"
		}
		return "link " + target
	}
	if !d.Type().IsRegular() {
		return "no file"
	}
	f, info, err := files.OpenIn(root, path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	if info.Size() > *room {
		return fmt.Sprintf("large %d %d", info.Size(), info.ModTime().UnixNano())
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, *room))
	if *room -= n; err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// changed returns the names of files that differ, are new or are gone, sorted.
func changed(before, now map[string]string) (list []string) {
	names := maps.Clone(now)
	maps.Copy(names, before)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if now[name] != before[name] {
			list = append(list, name)
		}
	}
	return list
}
