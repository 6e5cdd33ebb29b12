package shell

import (
	"crypto/sha256"
	"encoding/hex"
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
)

// maxDigested is how much of protected files is read, in bytes: agents can make files
// that only seem to have terabytes, and a run must be able to end.
const maxDigested = 2 << 30

// Digest implements runner.Verifier. Patterns match slash-separated paths
// relative to dir; ** stands for any number of folders. Links are not followed:
// where they lead is their content. A file that can't be read has a digest that
// says so; so has one that comes after maxDigested bytes of others, which is known by
// its size and its time instead.
func (v Verifier) Digest(dir string, patterns []string) map[string]string {
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
func changed(before, now map[string]string) []string {
	names := map[string]bool{}
	for name, sum := range before {
		if now[name] != sum {
			names[name] = true
		}
	}
	for name := range now {
		if _, there := before[name]; !there {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
