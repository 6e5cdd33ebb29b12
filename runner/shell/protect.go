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

// maxDigested is how much of protected files is read, in bytes: agents can make files
// that only seem to have terabytes, and a run must be able to end.
const maxDigested = 2 << 30

// maxCopied is how much of protected files is kept, in bytes.
const maxCopied = 64 << 20

// SaveProtected implements runner.Verifier. Patterns match slash-separated paths
// relative to the directory; ** stands for any number of folders. Links are not followed:
// where they lead is their content. A file that can't be read has a digest that
// says so; so has one that comes after maxDigested bytes of others, which is known by
// its size and its time instead.
func (v Verifier) SaveProtected(o runner.Order) map[string]string {
	root, err := o.Cage.OpenDir(o.Dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	kept := digests(root, o.Protect)
	// The copies go into a new folder that nobody else writes. Without copies nothing is put back, which is told then.
	if os.RemoveAll(o.Copies) != nil || os.MkdirAll(o.Copies, 0o700) != nil {
		return kept
	}
	copies, err := os.OpenRoot(o.Copies)
	if err != nil {
		return kept
	}
	defer copies.Close()
	room := int64(maxCopied)
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		in, info, err := files.OpenIn(root, pathOf(name))
		if err == nil && info.Size() <= room {
			room -= info.Size()
			err = copyInto(copies, copyOf(name), in, info.Mode().Perm())
		}
		_ = errors.Join(err, in.Close()) // a copy that fails is not there
	}
	return kept
}

// copyOf is the name of the copy of a file.
func copyOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// copyInto copies a file to one that is not there.
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

// restore gives protected files that have changed their content back, and removes those that were not there. lost are
// the files with which that can't be done.
func restore(c runner.Order) (differ, lost []string) {
	root, err := c.Cage.OpenDir(c.Dir)
	if err != nil { // something else is in its place
		differ = changed(c.Protected, map[string]string{})
		return differ, differ
	}
	defer root.Close()
	differ = changed(c.Protected, digests(root, c.Protect))
	for _, name := range differ {
		if err := putOneBack(root, c, name); err != nil {
			lost = append(lost, name)
		}
	}
	return differ, lost
}

func putOneBack(root *os.Root, c runner.Order, name string) error {
	path := pathOf(name)
	was, isThere := c.Protected[name]
	target, isLink := strings.CutPrefix(was, "link ")
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
	// The folders first: by a link in the place of one, other files would be removed.
	if err := errors.Join(makeFolders(root, filepath.Dir(path)), root.RemoveAll(path)); err != nil {
		return err
	}
	if isLink {
		return root.Symlink(target, path)
	}
	return copyInto(root, path, in, info.Mode().Perm())
}

// makeFolders makes folders of what was one: a link or a file may have taken the place of each.
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

// digests walks through the files of a folder that match a pattern.
func digests(root *os.Root, patterns []string) map[string]string {
	out := map[string]string{}
	room := int64(maxDigested)
	// An error means a folder that can't be read, or has a name that is no UTF-8; what is in it is then not there.
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
		if matches(path, patterns) {
			out[printable(path)] = digest(root, path, d, &room)
		}
		return nil
	})
	return out
}

// printable quotes a name that would not come back from a state file as it is, or
// would break a line of a report.
func printable(name string) string {
	if quoted := strconv.Quote(name); strings.ContainsRune(quoted, '\\') {
		return quoted
	}
	return name
}

// pathOf is the path of a file by the name that printable gives it.
func pathOf(name string) string {
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return filepath.FromSlash(name)
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := doublestar.Match(p, name)
		return err == nil && ok
	})
}

// digest is short: it tells an honest file from a changed one, and a state file
// holds many of them.
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

// changed names the files that differ, came or went, sorted.
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
