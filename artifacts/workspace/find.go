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

// Find returns the absolute path of the git program that PATH of an environment leads
// to, and that agents can't replace: what lies in one of the folders to avoid is never
// taken, nor what lies in the user's home, and of the rest a program in a folder that
// this user may not write to comes first. A user who may write everywhere, such as
// root, gets the first one of the rest. It is called before agents start; without such
// a program it returns an error.
func Find(environ []string, avoid ...string) (string, error) {
	home := homeOf(environ)
	// The home of root in a container may be anything, even the root folder.
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
		return "", fmt.Errorf("%w in a folder of PATH outside of the workspace, the home and temporary folders", ErrNoGit)
	}
	return second, nil
}

// Getenv returns a variable of an environment, "" for none. Windows has its name in any case.
func Getenv(environ []string, name string) (last string) {
	for _, v := range environ {
		if n, value, _ := strings.Cut(v, "="); n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			last = value
		}
	}
	return last
}

// homeOf is the home folder of the user.
func homeOf(environ []string) string {
	if runtime.GOOS == "windows" {
		return cmp.Or(Getenv(environ, "HOME"), Getenv(environ, "USERPROFILE"))
	}
	return Getenv(environ, "HOME")
}

// resolved is a path without links; one that does not exist stays as it is.
func resolved(path string) string {
	return cmp.Or(cage.Resolve(path), path)
}

// canReplace reports whether this user may write a program, or to a folder that it is
// reached through.
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
