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

// Keep implements runner.Verifier. Patterns match slash-separated paths
// relative to dir; ** stands for any number of folders. Links are not followed:
// where they lead is their content. A file that can't be read has a digest that
// says so; so has one that comes after maxDigested bytes of others, which is known by
// its size and its time instead.
func (v Verifier) Keep(dir string, patterns []string, copies string) map[string]string {
	kept := digests(dir, patterns)
	// The copies go into a new folder that nobody else writes. Without copies nothing is put back, which is told then.
	if os.RemoveAll(copies) != nil || os.MkdirAll(copies, 0o700) != nil {
		return kept
	}
	root, err := os.OpenRoot(copies)
	if err != nil {
		return kept
	}
	defer root.Close()
	room := int64(maxCopied)
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		path := filepath.Join(dir, pathOf(name))
		info, err := os.Lstat(path)
		if err == nil && info.Mode().IsRegular() && info.Size() <= room {
			room -= info.Size()
			_ = copyInto(root, copyOf(name), path, info.Mode().Perm()) // a copy that fails is not there
		}
	}
	return kept
}

// copyOf is the name of the copy of a file.
func copyOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// copyInto copies a file to one that is not there.
func copyInto(root *os.Root, name, from string, perm fs.FileMode) error {
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
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

// putBack gives changed files back what they were, and removes those that were not there. It returns those
// with which that can't be done. No link leads it out of the working directory.
func putBack(c runner.Order, changed []string) (lost []string) {
	if len(changed) == 0 {
		return nil
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return changed
	}
	defer root.Close()
	for _, name := range changed {
		if err := putOneBack(root, c, name); err != nil {
			lost = append(lost, name)
		}
	}
	return lost
}

func putOneBack(root *os.Root, c runner.Order, name string) error {
	path := pathOf(name)
	was, isThere := c.Protected[name]
	target, isLink := strings.CutPrefix(was, "link ")
	copied := filepath.Join(c.Copies, copyOf(name))
	info, err := os.Lstat(copied)
	if isThere && !isLink && err != nil {
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
	return copyInto(root, path, copied, info.Mode().Perm())
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

// digests walks through the files below dir that match a pattern.
func digests(dir string, patterns []string) map[string]string {
	out := map[string]string{}
	room := int64(maxDigested)
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // a link as the root would not be walked
	}
	// An error means a folder that can't be read; what is in it is then not there.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && matches(filepath.ToSlash(rel), patterns) {
			out[printable(filepath.ToSlash(rel))] = digest(path, d, &room)
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
func digest(path string, d fs.DirEntry, room *int64) string {
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return "unreadable"
		}
		return "link " + target
	}
	if !d.Type().IsRegular() {
		return "no file"
	}
	f, info, err := files.Open(path)
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
