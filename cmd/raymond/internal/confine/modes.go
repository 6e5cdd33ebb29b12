package confine

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// recordModes records the modes of some paths and of all folders around them, except in writable folders, where agents can put
// a link. giveBack restores the modes: no cage restricts chmod, which the owner of a file may always do.
func recordModes(paths, writable []string) (giveBack func()) {
	modes := map[string]fs.FileMode{}
	for _, path := range cage.Resolved(paths) {
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
