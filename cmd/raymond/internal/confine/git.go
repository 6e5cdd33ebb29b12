package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// maxPointer bounds what is read of a file of git's that names a path, in bytes.
const maxPointer = 64 << 10

// GitFolders are the folders of git that a directory needs, and those that worktrees of
// its repository share. The files that name them may be agents' text, so a name counts
// only where the folder that it leads to names the worktree as well.
func GitFolders(dir string) (needed, commons []string) {
	for at := dir; at != ""; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Lstat(dotGit)
		switch {
		case err == nil && info.IsDir():
			return []string{dotGit}, []string{dotGit}
		case err == nil && info.Mode().IsRegular():
			if common := commonOf(at); common != "" {
				return []string{common}, []string{common}
			}
			return submodule(at), nil
		case err == nil || filepath.Dir(at) == at:
			return nil, nil // a link, which anybody may have made
		}
	}
	return nil, nil
}

// commonOf returns git's folder of the repository that a directory is a linked worktree
// of; "" where one of the two doesn't say so.
func commonOf(top string) string {
	gitDir := cage.Resolve(pointer(filepath.Join(top, ".git"), "gitdir: "))
	if gitDir == "" || filepath.Base(filepath.Dir(gitDir)) != "worktrees" {
		return ""
	}
	if back := pointer(filepath.Join(gitDir, "gitdir"), ""); cage.Resolve(filepath.Dir(back)) != cage.Resolve(top) || filepath.Base(back) != ".git" {
		return ""
	}
	common := filepath.Dir(filepath.Dir(gitDir))
	if cage.Resolve(pointer(filepath.Join(gitDir, "commondir"), "")) != common {
		return ""
	}
	return common
}

// submodule returns git's folder of a submodule, where it lies in that of a repository
// around it.
func submodule(top string) []string {
	gitDir := cage.Resolve(pointer(filepath.Join(top, ".git"), "gitdir: "))
	around, _ := GitFolders(filepath.Dir(top))
	if gitDir == "" || !slices.ContainsFunc(around, func(g string) bool { return cage.IsWithin(gitDir, filepath.Join(g, "modules")) }) {
		return nil
	}
	return []string{gitDir}
}

// pointer reads a file that names a path; "" where it doesn't.
func pointer(path, prefix string) string {
	data, _, err := files.Read(path, maxPointer)
	if err != nil {
		return ""
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	switch {
	case !ok || target == "":
		return ""
	case filepath.IsAbs(target):
		return filepath.Clean(target)
	}
	return filepath.Join(filepath.Dir(path), target)
}

// linkedWorktree returns the top of the worktree around a directory, if it is a linked
// one of a repository with one of the given folders; else "".
func linkedWorktree(dir string, commons []string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if slices.Contains(commons, commonOf(at)) {
				return at
			}
			return ""
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

// top is the top of the worktree that the run works in; "" for none, and for a home folder that is one.
func (at *Site) top() string {
	home := cage.Resolve(at.home())
	for dir := cage.Resolve(at.Dir); len(dir) > 1 && !cage.IsWithin(home, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}
