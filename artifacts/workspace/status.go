package workspace

import (
	"context"
	"fmt"
	"runtime"
	"strings"
)

// Modes of tree entries that are treated in their own way.
const (
	modeNone = "000000"
	modeLink = "120000"
	modeFile = "100644"
	modeExec = "100755"
	modeSub  = "160000"
	modeTree = "040000"
)

// item is an entry of a tree or an index; the zero value is none.
type item struct{ mode, id string }

// itemOf is an entry as git names it.
func itemOf(mode, id string) item {
	if mode == modeNone {
		return item{}
	}
	return item{mode, id}
}

// slot is where an index has an entry: at 0, or at a stage of an unfinished merge, 1 to 3.
type slot struct {
	path  string
	stage int
}

// entry is a line of git's status: a path that is not as HEAD and the index have it.
type entry struct {
	kind        byte    // '1' changed, 'u' unmerged, '?' untracked
	staged      byte    // how the index differs from HEAD: '.', 'M', 'T', 'A', 'D'
	changed     byte    // how the file differs from the index: the same
	index       [4]item // what the index has: at 0, or of an unmerged path at its stages
	mode        string  // of the file; modeNone when it is gone
	path        string
	isSubmodule bool
}

// lookAt finds the branch and the commit of a worktree, and what it differs in from that.
func (t *tool) lookAt(ctx context.Context, p *place) (*worktree, error) {
	wt := worktreeAt(p)
	return wt, t.look(ctx, wt)
}

// look is lookAt for a worktree that was looked at before. Filters that the repository sets are not run: what they
// would change shows as changed, but for that of git LFS.
func (t *tool) look(ctx context.Context, wt *worktree) error {
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
		if err := wt.read(line); err != nil {
			return err
		}
	}
	return t.withoutLFS(ctx, wt)
}

// read reads a line of git's status.
func (wt *worktree) read(line string) error {
	about, isHeader := strings.CutPrefix(line, "# ")
	key, value, _ := strings.Cut(about, " ")
	switch {
	case !isHeader:
		e, err := parseEntry(line)
		wt.status = append(wt.status, e)
		return err
	case key == "branch.oid" && isID(value):
		wt.Head = value
	case key == "branch.head" && isBranch(value) && value != "(detached)":
		wt.Branch = value
	}
	return nil
}

// filtersOff are the settings that turn off every filter that is set.
// Where git is shown settings of ours alone, there is none.
func (t *tool) filtersOff(ctx context.Context, dir string) ([]setting, error) {
	if runtime.GOOS != "windows" {
		return nil, nil
	}
	out, err := t.output(ctx, call{dir: dir}, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil && !exited(err, 1) {
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

func parseEntry(line string) (entry, error) {
	bad := fmt.Errorf("git status: line %q is unknown", line)
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
