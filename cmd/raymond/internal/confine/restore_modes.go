package confine

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// recordModes records the modes of the paths and of all directories above them, and returns a function
// that restores these modes. It is needed because no cage restricts chmod: the owner of a file may always
// change its mode. Paths in writable directories are not recorded, because agents can create links there.
func recordModes(paths, writable []string) (giveBack func()) {
	modes := map[string]fs.FileMode{}
	for _, path := range cage.ResolveAll(paths) {
		for ; modes[path] == 0 && !isIn(filepath.Dir(path), writable); path = filepath.Dir(path) {
			if info, err := os.Lstat(path); err == nil {
				modes[path] = info.Mode()
			}
		}
	}
	outerFirst := slices.Sorted(maps.Keys(modes))
	return func() {
		for _, path := range outerFirst {
			if info, err := os.Lstat(path); err == nil && info.Mode() != modes[path] {
				_ = os.Chmod(path, modes[path]) // if this is not permitted, agents could not have changed the mode either
			}
		}
	}
}

// runnerFiles returns the files that the runner needs if program belongs to the runner. For other programs,
// it returns an empty list.
func runnerFiles(program string) []string {
	bin, name := filepath.Split(program)
	if !strings.HasPrefix(name, "Runner.") {
		return nil
	}
	own, _ := filepath.Glob(filepath.Join(bin, "*"))
	nodes, _ := filepath.Glob(filepath.Join(bin, "../externals/*/bin/node"))
	return append(own, nodes...)
}
