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

// changed are the files that differ from the index, each with what is there now: nil for nothing.
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

// weigh adds up the files that will be read, before anything is written. One file may have at most single bytes, 0 for any
// number. It describes the largest three files.
func weigh(trees []*worktree, limit, single int64) (largest string, err error) {
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
		names = append(names, fmt.Sprintf("%q has %s", f.path, sizes(f.size)))
	}
	if len(names) > 0 {
		largest = " (" + strings.Join(names, ", ") + ")"
	}
	const advice = "remove files that no later state needs, or list them in .gitignore"
	switch most := limit * rawFactor; {
	case single > 0 && len(all) > 0 && all[0].size > single:
		return "", fmt.Errorf("%w: one file may have %s%s; %s", ErrTooLarge, sizes(single), largest, advice)
	case total > most:
		return "", fmt.Errorf("%w: changed files of %s%s, over %s; %s", ErrTooLarge, sizes(total), largest, sizes(most), advice)
	}
	return largest, nil
}
