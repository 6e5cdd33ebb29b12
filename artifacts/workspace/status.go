package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// Modes of tree and index entries.
const (
	modeNone = "000000"
	modeLink = "120000"
	modeFile = "100644"
	modeExec = "100755"
	modeSub  = "160000"
	modeTree = "040000"
)

// item is an entry of a tree or an index. The zero value means that the entry doesn't exist.
type item struct{ mode, id string }

// itemOf returns an entry with the mode and the id that git printed.
func itemOf(mode, id string) item {
	if mode == modeNone {
		return item{}
	}
	return item{mode, id}
}

// slot identifies an index entry by its path and stage. The stage is 0, or 1 to 3 in an unfinished merge.
type slot struct {
	path  string
	stage int
}

// entry is a line of git status: a path that differs from HEAD or from the index.
type entry struct {
	kind        byte    // '1' changed, 'u' unmerged, '?' untracked
	staged      byte    // difference between index and HEAD: '.', 'M', 'T', 'A', 'D'
	changed     byte    // difference between file and index, with the same letters
	index       [4]item // index entries: stage 0, or stages 1 to 3 of an unmerged path
	mode        string  // mode of the file; modeNone if it is missing
	path        string
	isSubmodule bool
}

// readStatus returns a worktree with its branch, HEAD and status.
func (t *tool) readStatus(ctx context.Context, p *location) (*worktree, error) {
	wt := worktreeAt(p)
	return wt, t.updateStatus(ctx, wt)
}

// updateStatus updates the branch, HEAD and status of a worktree. Filters that the repository configures
// don't run. So files that a filter would convert count as changed, except files of git LFS.
func (t *tool) updateStatus(ctx context.Context, wt *worktree) error {
	off, err := t.filtersOff(ctx, wt.Dir)
	if err != nil {
		return err
	}
	wt.raw, err = t.output(ctx, call{dir: wt.Dir, settings: off}, "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind",
		"--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return err
	}
	wt.Branch, wt.Head, wt.Operation, wt.status = "", "", operation(wt.gitDir), nil
	for line := range strings.SplitSeq(strings.TrimSuffix(string(wt.raw), "\x00"), "\x00") {
		about, isHeader := strings.CutPrefix(line, "# ")
		key, value, _ := strings.Cut(about, " ")
		switch {
		case !isHeader:
			e, err := parseEntry(line)
			if err != nil {
				return err
			}
			wt.status = append(wt.status, e)
		case key == "branch.oid" && isID(value):
			wt.Head = value
		case key == "branch.head" && isBranch(value) && value != "(detached)":
			wt.Branch = value
		}
	}
	return t.withoutLFS(ctx, wt)
}

// filtersOff returns settings that disable all configured filters. It returns nil where git sees a view,
// because a view configures no filter.
func (t *tool) filtersOff(ctx context.Context, dir string) ([]setting, error) {
	if runtime.GOOS != "windows" {
		return nil, nil
	}
	out, err := t.output(ctx, call{dir: dir}, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil && !exitedWith(err, 1) {
		return nil, err
	}
	var off []setting
	for key := range strings.SplitSeq(string(out), "\x00") {
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			continue
		}
		off = append(off, setting{key[:dot] + ".clean", ""}, setting{key[:dot] + ".smudge", ""},
			setting{key[:dot] + ".process", ""}, setting{key[:dot] + ".required", "false"})
	}
	return off, nil
}

// parseEntry parses a line of git status --porcelain=v2 about one path.
func parseEntry(line string) (entry, error) {
	bad := fmt.Errorf("git status: unknown line %q", line)
	if path, ok := strings.CutPrefix(line, "? "); ok {
		return entry{kind: '?', staged: '.', changed: '?', path: path}, nil
	}
	switch f := strings.SplitN(line, " ", 9); {
	case len(f) == 9 && f[0] == "1" && len(f[1]) == 2:
		return entry{kind: '1', staged: f[1][0], changed: f[1][1], isSubmodule: f[2] != "N...",
			index: [4]item{itemOf(f[4], f[7])}, mode: f[5], path: f[8]}, nil
	case f[0] != "u":
		return entry{}, bad
	}
	f := strings.SplitN(line, " ", 11)
	if len(f) != 11 || len(f[1]) != 2 {
		return entry{}, bad
	}
	return entry{kind: 'u', staged: f[1][0], changed: f[1][1], isSubmodule: f[2] != "N...",
		index: [4]item{1: itemOf(f[3], f[7]), 2: itemOf(f[4], f[8]), 3: itemOf(f[5], f[9])}, mode: f[6], path: f[10]}, nil
}

// Untracked returns the absolute paths of the untracked files in the worktree around a directory, including
// ignored files. A directory that is ignored as a whole counts as one file. If the directory is in no
// worktree, or git is not installed, the result is nil.
func (g *Git) Untracked(ctx context.Context, dir string) ([]string, error) {
	t, err := g.open()
	if errors.Is(err, ErrNoGit) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer t.close()
	p, err := t.location(ctx, dir)
	if err != nil || p == nil {
		return nil, err
	}
	out, err := t.output(ctx, call{dir: p.top}, "status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		if state, path, _ := strings.Cut(line, " "); state == "??" || state == "!!" {
			all = append(all, filepath.Join(resolved(p.top), filepath.FromSlash(path)))
		}
	}
	return all, nil
}

// changedSubmodules returns the paths of the submodules in a worktree that contain changes or new commits.
func (t *tool) changedSubmodules(ctx context.Context, top string) (changed []string, err error) {
	index, err := t.indexOf(ctx, top)
	if err != nil {
		return nil, err
	}
	for at, have := range index {
		dir := filepath.Join(top, filepath.FromSlash(at.path))
		if have.mode != modeSub || !cage.IsWithin(resolved(dir), resolved(top)) {
			continue
		}
		sub, err := t.location(ctx, dir)
		if err != nil {
			return nil, err
		}
		if sub == nil || !sameDir(sub.top, dir) {
			continue // the submodule is not checked out
		}
		wt, err := t.readStatus(ctx, sub)
		if err != nil {
			return nil, err
		}
		if len(wt.status) > 0 || wt.Head != have.id {
			changed = append(changed, at.path)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// pathsOf returns the paths of entries.
func pathsOf(status []entry) []string {
	paths := make([]string, len(status))
	for i, e := range status {
		paths[i] = e.path
	}
	return paths
}
