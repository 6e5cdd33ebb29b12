package confine

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// makeOwn makes a temporary folder for a run, below another one; "" is the system's.
// Its path is short, since sockets in it have paths of 108 bytes at most.
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

// home is the real home folder; "" where the environment names none.
func (at *Site) home() string { return absolute(workspace.Getenv(at.Environ, "HOME")) }

// AgentHome is the folder that agents have for their home.
func (at *Site) AgentHome() string { return filepath.Join(at.own, "home") }

// ExpandHome is a path in which ~ may stand for the real home folder.
func (at *Site) ExpandHome(path string) string {
	if home := at.home(); home != "" && (path == "~" || len(path) > 1 && path[:2] == "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
}

// top is the top of the worktree that the run works in; "" for none, and for a home folder that is one.
func (at *Site) top() string {
	home := cage.Resolve(at.home())
	for dir := cage.Resolve(at.Dir); filepath.Dir(dir) != dir && !cage.IsWithin(home, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}
