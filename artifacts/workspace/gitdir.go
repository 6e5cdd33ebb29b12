package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// maxPointer is the maximum size of a file that contains the path of a directory, in bytes.
const maxPointer = 64 << 10

// location returns the location of a directory, or nil if the directory is in no worktree. Like git, it
// searches the directory and its parents, but it reads no settings in untrusted files.
func (t *tool) location(ctx context.Context, dir string) (*location, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil // an agent may have removed it
	}
	if p := t.locations[dir]; p != nil {
		return p, nil
	}
	p, err := t.findLocation(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("look for git in %q: %w", dir, err)
	}
	if p != nil {
		t.locations[dir] = p
	}
	return p, nil
}

// worktree returns the location of a directory, or ErrNoWorktree if it is in no worktree.
func (t *tool) worktree(ctx context.Context, dir string) (*location, error) {
	p, err := t.location(ctx, dir)
	if err == nil && p == nil {
		err = fmt.Errorf("%q: %w", dir, ErrNoWorktree)
	}
	return p, err
}

// findLocation does the work of location for a directory that is not in t.locations.
func (t *tool) findLocation(ctx context.Context, dir string) (*location, error) {
	inside, err := cage.FollowLinks(dir, t.opts.Workspace)
	if err != nil {
		return nil, nil //nolint:nilerr // an agent may have put a link to another repository there
	}
	p, err := claimedLocation(inside)
	if err != nil || p == nil || !isGitDir(p.gitDir) {
		return nil, err
	}
	h, err := t.view(ctx, p.common)
	if err != nil {
		return nil, err
	}
	p.view = h
	if h.perTree {
		list, err := t.config(ctx, filepath.Join(p.gitDir, "config.worktree"))
		if err != nil {
			return nil, err
		}
		p.settings = filterSettings(list)
	}
	if !p.isLinked() && h.bare && h.worktree == "" {
		return nil, nil
	}
	if !p.isConfirmed() {
		return nil, fmt.Errorf("its .git points to %q, which doesn't belong to this worktree; git worktree repair may help", p.gitDir)
	}
	// Of the files at the top of the worktree, git always reads these three.
	err = errors.Join(checkFiles(p.gitDir, "HEAD", "index", "info/sparse-checkout"), checkFiles(p.top, ".gitignore", ".gitattributes", ".gitmodules"))
	if err != nil {
		return nil, err
	}
	// The top directory gets the spelling in dir, the caller's path, if possible. It is saved in this spelling,
	// because the machine that restores the work can't resolve links of this machine.
	written, ok := strings.CutSuffix(filepath.Clean(dir), strings.TrimPrefix(inside, p.top))
	if written == "" {
		written = string(filepath.Separator)
	}
	if ok && sameDir(written, p.top) {
		p.top = written
	}
	return p, nil
}

// isConfirmed reports whether the git directory is inside the worktree or itself names the worktree.
// Without this check, an agent could write a .git file that points to any repository of the machine, and
// this package would save that repository.
func (p *location) isConfirmed() bool {
	if !p.isLinked() {
		return cage.IsWithin(p.gitDir, p.top) || p.view.worktree != "" && sameDir(resolveIn(p.gitDir, p.view.worktree), p.top)
	}
	back, err := readPointer(filepath.Join(p.gitDir, "gitdir"), "")
	return err == nil && filepath.Dir(p.gitDir) == filepath.Join(p.common, "worktrees") && filepath.Base(back) == ".git" && sameDir(filepath.Dir(resolveIn(p.gitDir, back)), p.top)
}

// claimedLocation returns the location of a directory according to the nearest .git in the directory or its
// parents. It returns nil if there is none. A .git that an agent created hides the repositories in parent
// directories. Agents may have written the files that claimedLocation reads.
func claimedLocation(dir string) (*location, error) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if isGitDir(dir) || filepath.Dir(dir) == dir {
			return nil, nil // dir is inside a git directory, or no directory above it has a .git
		}
	}
	gitDir := filepath.Join(dir, ".git")
	if info, err := os.Stat(gitDir); err == nil && !info.IsDir() {
		target, err := readPointer(gitDir, "gitdir: ")
		if err != nil {
			return nil, err
		}
		gitDir = resolveIn(dir, target)
	}
	gitDir, err := filepath.EvalSymlinks(gitDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	common := gitDir
	target, err := readPointer(filepath.Join(gitDir, "commondir"), "")
	if err == nil {
		common, err = filepath.EvalSymlinks(resolveIn(gitDir, target))
	} else if errors.Is(err, fs.ErrNotExist) { // the worktree is not linked
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &location{view: &repoView{}, top: dir, gitDir: gitDir, common: common}, nil
}

// GitDirs returns the git directories that a process in dir needs, and the common directories among them.
// Agents may have written the files that name a git directory. So a git directory is returned only if it is
// inside the worktree or itself names the worktree. The git directory of a submodule must be inside the git
// directory of the repository around the submodule. dir and the results are paths without links.
func GitDirs(dir string) (needed, commons []string) {
	p, err := claimedLocation(dir)
	switch {
	case err != nil || p == nil:
		return nil, nil
	case p.isConfirmed():
		return []string{p.common}, []string{p.common}
	case p.isLinked() || filepath.Dir(p.top) == p.top:
		return nil, nil
	}
	around, _ := GitDirs(filepath.Dir(p.top)) // the worktree may be a submodule of this one
	if slices.ContainsFunc(around, func(g string) bool { return cage.IsWithin(p.gitDir, filepath.Join(g, "modules")) }) {
		return []string{p.gitDir}, nil
	}
	return nil, nil
}

// LinkedWorktree returns the top directory of the worktree around dir, if it is a linked worktree of a
// repository whose common directory is in commons. Otherwise it returns "".
func LinkedWorktree(dir string, commons []string) string {
	if p, err := claimedLocation(dir); err == nil && p != nil && p.isLinked() && p.isConfirmed() && slices.Contains(commons, p.common) {
		return p.top
	}
	return ""
}

// isGitDir reports whether a directory looks like the git directory of a repository or of a linked
// worktree.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// readPointer reads a file that consists of a prefix and a path, and returns the path.
func readPointer(path, prefix string) (string, error) {
	data, _, err := files.Read(resolved(path), maxPointer)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || target == "" {
		return "", fmt.Errorf("%s does not contain the path of a git directory", path)
	}
	return filepath.FromSlash(target), nil
}

// resolveIn returns a path in absolute form. A relative path is relative to dir.
func resolveIn(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// filesOfCommon are the files that git reads in a common directory, except objects.
var filesOfCommon = []string{"HEAD", "packed-refs", "shallow", "info/attributes", "info/exclude", "objects/info", "objects/pack", "worktrees", "refs"}

// checkFiles returns an error if a file could make git block or read forever. Each must be a regular file
// of at most 1 GiB, a link to one, a directory, or absent. A pack may have any size. The number of files
// is limited too.
func checkFiles(dir string, names ...string) error {
	n := 0
	for _, name := range names {
		err := filepath.WalkDir(resolved(filepath.Join(dir, filepath.FromSlash(name))), func(path string, d fs.DirEntry, err error) error {
			if n++; n > maxFiles {
				return fmt.Errorf("%q has more than %d files", dir, maxFiles)
			}
			if err != nil || d.IsDir() {
				return nil // it was removed during the walk, or git will report the error
			}
			info, err := os.Stat(path)
			switch {
			case err != nil || info.IsDir() || info.Mode()&fs.ModeSocket != 0:
				return nil // git will report the error itself
			case !info.Mode().IsRegular():
				return fmt.Errorf("%q: %w", path, files.ErrNotRegular)
			case info.Size() > maxGit && filepath.Ext(path) != ".pack":
				return fmt.Errorf("%q has %s, more than %s", path, formatBytes(info.Size()), formatBytes(maxGit))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
