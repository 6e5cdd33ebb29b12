package confine

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// recordModes records the modes of some paths and of all directories above them, except in writable directories,
// where agents can create links. restore restores the modes: no cage restricts chmod, which the owner of a file may
// always do.
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
				_ = os.Chmod(path, modes[path]) // agents can't change the mode of another user's file either
			}
		}
	}
}

// runnerPrograms returns the programs that the runner of this job still needs, for instance for post phases.
func runnerPrograms() (found []string) {
	for _, pid := range processes.Ancestors() {
		program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		found = append(found, runnerFiles(program)...)
	}
	return found
}

// runnerFiles returns the files that a program of the runner needs; none for another program.
func runnerFiles(program string) []string {
	bin, name := filepath.Split(program)
	if !strings.HasPrefix(name, "Runner.") {
		return nil
	}
	own, _ := filepath.Glob(filepath.Join(bin, "*"))
	nodes, _ := filepath.Glob(filepath.Join(bin, "../externals/*/bin/node"))
	return append(own, nodes...)
}
