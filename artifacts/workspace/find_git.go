package workspace

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// Find returns the absolute path of a git program on the PATH in environ that agents can't replace. It
// never returns a program in the user's home or in the directories to avoid. It prefers the first program
// in a directory that this user can't write to. If every directory is writable, for example for root, it
// returns the first program outside of the avoided directories. Find must be called before agents start. If
// no program is suitable, the error wraps ErrNoGit.
func Find(environ []string, avoid ...string) (string, error) {
	home := homeOf(environ)
	// In a container, root's home may be the root directory. It is then not avoided, because every program
	// is in it.
	if home != "" && filepath.Dir(filepath.Clean(home)) != filepath.Clean(home) {
		avoid = append(avoid, home)
	}
	second := ""
	for _, dir := range filepath.SplitList(Getenv(environ, "PATH")) {
		found, err := exec.LookPath(filepath.Join(dir, "git"))
		if !filepath.IsAbs(dir) || err != nil || slices.ContainsFunc([]string{found, resolved(found)}, func(path string) bool {
			return slices.ContainsFunc(avoid, func(folder string) bool {
				return cage.IsWithin(path, filepath.Clean(folder)) || cage.IsWithin(path, resolved(folder))
			})
		}) {
			continue
		}
		if !canReplace(found) {
			return found, nil
		}
		second = cmp.Or(second, found)
	}
	if second == "" {
		return "", fmt.Errorf("%w on PATH; folders in the workspace, the home folder and the temporary folder are not searched, so install git in a system folder", ErrNoGit)
	}
	return second, nil
}

// Getenv returns the value of a variable in an environment, or "" if it is not set. On Windows, the case of
// the name is ignored.
func Getenv(environ []string, name string) (last string) {
	for _, v := range environ {
		if n, value, _ := strings.Cut(v, "="); n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			last = value
		}
	}
	return last
}

// homeOf returns the user's home directory in an environment, or "" if it is not set.
func homeOf(environ []string) string {
	if runtime.GOOS == "windows" {
		return cmp.Or(Getenv(environ, "HOME"), Getenv(environ, "USERPROFILE"))
	}
	return Getenv(environ, "HOME")
}

// resolved returns a path with all links resolved. A path that doesn't exist is returned unchanged.
func resolved(path string) string {
	return cmp.Or(cage.Resolve(path), path)
}

// canReplace reports whether this user may write to a program or to any directory above it.
func canReplace(program string) bool {
	for _, path := range []string{program, resolved(program)} {
		for ; ; path = filepath.Dir(path) {
			if isWritable(path) {
				return true
			}
			if filepath.Dir(path) == path {
				break
			}
		}
	}
	return false
}
