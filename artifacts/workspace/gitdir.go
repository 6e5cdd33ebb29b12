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

// maxPointer bounds a file that says where a folder is, in bytes.
const maxPointer = 64 << 10

// place finds where a directory lies in git, as git does it but without reading a
// setting that somebody could have written; nil when it lies in no worktree.
func (t *tool) place(ctx context.Context, dir string) (*place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil // an agent may have removed it
	}
	if p := t.places[dir]; p != nil {
		return p, nil
	}
	p, err := t.locate(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("look for git in %q: %w", dir, err)
	}
	if p != nil {
		t.places[dir] = p
	}
	return p, nil
}

// worktree is place for a directory that has to lie in a worktree; else the error is ErrNoWorktree.
func (t *tool) worktree(ctx context.Context, dir string) (*place, error) {
	p, err := t.place(ctx, dir)
	if err == nil && p == nil {
		err = fmt.Errorf("%q: %w", dir, ErrNoWorktree)
	}
	return p, err
}

func (t *tool) locate(ctx context.Context, dir string) (*place, error) {
	inside, err := cage.FollowLinks(dir, t.of.Workspace)
	if err != nil {
		return nil, nil //nolint:nilerr // an agent may have put a link to another repository there
	}
	p, err := named(inside)
	if err != nil || p == nil || !isGitDir(p.gitDir) {
		return nil, err
	}
	h, err := t.home(ctx, p.common)
	if err != nil {
		return nil, err
	}
	p.home = h
	if h.perTree {
		list, err := t.config(ctx, filepath.Join(p.gitDir, "config.worktree"))
		if err != nil {
			return nil, err
		}
		p.settings = keptOf(list)
	}
	if !p.linked() && h.bare && h.worktree == "" {
		return nil, nil
	}
	if !p.isKnown() {
		return nil, fmt.Errorf("its .git leads to %q, which is not that of a worktree there; git worktree repair may help", p.gitDir)
	}
	if err := errors.Join(check(p.gitDir, "HEAD", "index", "info/sparse-checkout"), check(p.top, readOfTree...)); err != nil {
		return nil, err
	}
	p.spell(dir, inside)
	return p, nil
}

// isKnown reports whether git's folder lies in the worktree, or says itself that it belongs to that. Whoever
// writes a .git could else have any repository of the machine saved and handed over.
func (p *place) isKnown() bool {
	if !p.linked() {
		return cage.IsWithin(p.gitDir, p.top) || p.home.worktree != "" && sameDir(under(p.gitDir, p.home.worktree), p.top)
	}
	back, err := pointer(filepath.Join(p.gitDir, "gitdir"), "")
	return err == nil && filepath.Dir(p.gitDir) == filepath.Join(p.common, "worktrees") && filepath.Base(back) == ".git" && sameDir(filepath.Dir(under(p.gitDir, back)), p.top)
}

// nearest returns the nearest folder around a directory that has a .git, and the folder that this is, or names; "" for
// none. Whatever agents put there hides the repositories around it.
func nearest(dir string) (top, gitDir string, err error) {
	for ; ; dir = filepath.Dir(dir) {
		dotGit := filepath.Join(dir, ".git")
		if _, err := os.Lstat(dotGit); err == nil {
			break
		}
		if isGitDir(dir) || filepath.Dir(dir) == dir {
			return "", "", nil // there is no worktree around git's own folder
		}
	}
	gitDir = filepath.Join(dir, ".git")
	if info, err := os.Stat(gitDir); err == nil && !info.IsDir() {
		target, err := pointer(gitDir, "gitdir: ")
		if err != nil {
			return "", "", err
		}
		gitDir = under(dir, target)
	}
	gitDir, err = filepath.EvalSymlinks(gitDir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	return dir, gitDir, err
}

// named is what the files around a directory say of git; nil for nothing. They may be agents' text.
func named(dir string) (*place, error) {
	top, gitDir, err := nearest(dir)
	if err != nil || gitDir == "" {
		return nil, err
	}
	common, err := commonOf(gitDir)
	if err != nil {
		return nil, err
	}
	return &place{home: &home{}, top: top, gitDir: gitDir, common: common}, nil
}

// GitDirs are the folders of git that a directory needs, and those that worktrees of its repository share. The files
// that name them may be agents' text, so a name counts only where the folder that it leads to names the worktree as
// well. The directory is one without links, as are those that are returned.
func GitDirs(dir string) (needed, commons []string) {
	p, err := named(dir)
	switch {
	case err != nil || p == nil:
		return nil, nil
	case p.isKnown():
		return []string{p.common}, []string{p.common}
	case p.linked() || filepath.Dir(p.top) == p.top:
		return nil, nil
	}
	around, _ := GitDirs(filepath.Dir(p.top)) // of which it may be a submodule
	if slices.ContainsFunc(around, func(g string) bool { return cage.IsWithin(p.gitDir, filepath.Join(g, "modules")) }) {
		return []string{p.gitDir}, nil
	}
	return nil, nil
}

// LinkedWorktree returns the top of the worktree around a directory, if it is a linked one of a repository with one of
// the folders that Folders returns as shared; else "".
func LinkedWorktree(dir string, commons []string) string {
	if p, err := named(dir); err == nil && p != nil && p.linked() && p.isKnown() && slices.Contains(commons, p.common) {
		return p.top
	}
	return ""
}

// isGitDir reports whether a folder looks like one of git's, for a repository or for a
// linked worktree.
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

// commonOf returns the folder that the worktrees of a repository share.
func commonOf(gitDir string) (string, error) {
	target, err := pointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(under(gitDir, target))
}

// pointer reads a file that holds a path.
func pointer(path, prefix string) (string, error) {
	data, _, err := files.Read(resolved(path), maxPointer)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || target == "" {
		return "", fmt.Errorf("%s does not say where git's folder is", path)
	}
	return filepath.FromSlash(target), nil
}

// under is a path that may be relative to a directory.
func under(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// What git reads of a repository's own folder and of a worktree, but for objects and for what is below them.
var (
	readOfCommon = []string{"HEAD", "packed-refs", "shallow", "info/attributes", "info/exclude", "objects/info", "objects/pack", "worktrees", "refs"}
	readOfTree   = []string{".gitignore", ".gitattributes", ".gitmodules"}
)

// check returns an error when git could be kept waiting, or be made to read without end, by what is in the place of
// files that it reads: each has to be a regular one of at most 1 GiB, a link to one, a folder, or not there. A pack may
// have any size.
func check(dir string, names ...string) error {
	n := 0
	for _, name := range names {
		err := filepath.WalkDir(resolved(filepath.Join(dir, filepath.FromSlash(name))), func(path string, d fs.DirEntry, err error) error {
			if n++; n > maxFiles {
				return fmt.Errorf("%q has more than %d files", dir, maxFiles)
			}
			if err != nil || d.IsDir() {
				return nil // it is gone, or git can tell
			}
			info, err := os.Stat(path)
			switch {
			case err != nil || info.IsDir() || info.Mode()&fs.ModeSocket != 0:
				return nil // that git can tell
			case !info.Mode().IsRegular():
				return fmt.Errorf("%q: %w", path, files.ErrNotRegular)
			case info.Size() > maxGit && filepath.Ext(path) != ".pack":
				return fmt.Errorf("%q has %s, more than %s", path, sizes(info.Size()), sizes(maxGit))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
