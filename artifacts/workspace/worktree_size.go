package workspace

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// changed yields the path and the FileInfo of each file that differs from the index. The FileInfo is nil if
// the file doesn't exist or can't be accessed.
func (wt *worktree) changed() iter.Seq2[string, os.FileInfo] {
	return func(yield func(string, os.FileInfo) bool) {
		for _, e := range wt.status {
			if e.changed == '.' {
				continue
			}
			info, _ := os.Lstat(filepath.Join(wt.Dir, filepath.FromSlash(e.path)))
			if !yield(e.path, info) {
				return
			}
		}
	}
}

// checkSizes checks the sizes of the files that a save will read, before anything is written. single is the
// maximum size of one file, or 0 for no limit. The error wraps ErrTooLarge. checkSizes returns a text about
// the three largest files.
func checkSizes(trees []*worktree, limit, single int64) (largest string, err error) {
	type file struct {
		path string
		size int64
	}
	var all []file
	var total int64
	for _, wt := range trees {
		for path, info := range wt.changed() {
			if info != nil && info.Mode().IsRegular() {
				all, total = append(all, file{path, info.Size()}), total+info.Size()
			}
		}
	}
	slices.SortStableFunc(all, func(a, b file) int { return cmp.Compare(b.size, a.size) })
	var names []string
	for _, f := range all[:min(3, len(all))] {
		names = append(names, fmt.Sprintf("%q has %s", f.path, formatBytes(f.size)))
	}
	if len(names) > 0 {
		largest = " (" + strings.Join(names, ", ") + ")"
	}
	const advice = "remove files that no later state needs, or list them in .gitignore"
	switch most := limit * rawFactor; {
	case single > 0 && len(all) > 0 && all[0].size > single:
		return "", fmt.Errorf("%w: a file may have at most %s%s; %s", ErrTooLarge, formatBytes(single), largest, advice)
	case total > most:
		return "", fmt.Errorf("%w: the changed files have %s%s, more than %s; %s", ErrTooLarge, formatBytes(total), largest, formatBytes(most), advice)
	}
	return largest, nil
}
