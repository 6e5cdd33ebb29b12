package confine

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/internal/cage"
)

// plan is what agents get.
type plan struct {
	Files   cage.Policy // without a network
	Env     []string    // variables that lead programs to their places
	Commons []string    // folders of git that linked worktrees share
	Unseen  []string    // caches of this machine that agents have none of
}

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
	if target := cage.Resolve(own); target != "" {
		return target, nil
	}
	return own, nil
}

// planOf returns what agents at a site get, and makes the home folder that they have.
func planOf(at Site) (plan, error) {
	git, commons := workspace.Folders(cage.Resolve(at.Dir))
	k := keep{at.kept(), cage.Resolved(at.Hidden)}
	p := plan{Commons: commons}
	p.Files.Writable = outermost(slices.Concat([]string{cage.Resolve(at.Dir), at.own}, git, at.write, devices))
	fromHome := slices.Concat(toolchains(at.home()), onPath(at, k), at.Read)
	p.Files.Readable = at.fixed(p.Files.Writable, slices.Concat(cage.System(), linksIn("/etc"), fromHome, fromVariables(at, k), []string{at.top(), filepath.Join(at.goModules(), "cache", "download")}))
	p.Files.Hidden = k.kept
	err := makeHome(at, append(fromHome, at.write...))
	p.Env = at.variables()
	p.Unseen = at.unseen()
	return p, err
}

// kept is what is nobody's, whatever lies around it: but for what is named below it.
func (at *Site) kept() []string {
	kept := slices.Concat(at.Hidden, at.runners())
	for _, path := range []string{at.home(), at.Temp, at.Workspace} {
		if path != "" && filepath.Dir(path) != path {
			kept = append(kept, path)
		}
	}
	return cage.Resolved(kept)
}

// home is the real home folder; "" where the environment names none.
func (at *Site) home() string { return absolute(value(at.Environ, "HOME")) }

// Home is the folder that agents have for their home.
func (at *Site) Home() string { return filepath.Join(at.own, "home") }

// InHome is a path in which ~ may stand for the real home folder.
func (at *Site) InHome(path string) string {
	if home := at.home(); home != "" && (path == "~" || len(path) > 1 && path[:2] == "~/") {
		return filepath.Join(home, path[1:])
	}
	return path
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
