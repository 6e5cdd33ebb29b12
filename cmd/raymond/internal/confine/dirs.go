package confine

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// makeOwn creates a temporary directory for a run in temp, or in the system's temporary directory if
// temp is empty. Its name is short, because the path of a socket in it can have at most 108 bytes.
func makeOwn(temp string) (string, error) {
	name := "r-*"
	if temp == "" {
		temp, name = os.TempDir(), "raymond-*"
	}
	own, err := os.MkdirTemp(temp, name)
	if err != nil {
		return "", err
	}
	return cmp.Or(cage.Resolve(own), own), nil
}

// home returns the real home directory. It returns "" if HOME is not set.
func (at *Site) home() string { return absolute(workspace.Getenv(at.Environ, "HOME")) }

// AgentHome returns the home directory that agents get instead of the real one.
func (at *Site) AgentHome() string { return filepath.Join(at.own, "home") }

// ExpandHome replaces a leading ~ with the real home directory.
func (at *Site) ExpandHome(path string) string {
	if home := at.home(); home != "" && (path == "~" || len(path) > 1 && path[:2] == "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}

// top returns the top directory of the worktree in which the run works. It returns "" if there is no
// worktree, or if the worktree contains the home directory.
func (at *Site) top() string {
	home := cage.Resolve(at.home())
	for dir := cage.Resolve(at.Dir); filepath.Dir(dir) != dir && !cage.IsWithin(home, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}
