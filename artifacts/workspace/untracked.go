package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
)

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
