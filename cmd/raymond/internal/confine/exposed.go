package confine

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxNamed is how many paths one line names.
const maxNamed = 3

// tellExposed tells what the cage can't keep from agents, since a folder that they may
// write contains it: what is hidden, and what they must not write.
func (c *Cages) tellExposed(guarded []string) {
	if paths := c.policy.Exposed(); len(paths) > 0 {
		c.told.note("cage: agents can read and write " + listed(paths) + ", since a folder that they may write contains it")
	}
	var open []string
	for _, path := range guarded {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if at := resolved(path); at != "" && slices.ContainsFunc(c.policy.Writable, func(w string) bool { return isWithin(at, w) }) {
			open = append(open, path)
		}
	}
	slices.Sort(open)
	if open = slices.Compact(open); len(open) > 0 {
		c.told.note("cage: agents can write " + listed(open) + ", since a folder that they may write contains it")
	}
}

// listed names the first of some paths.
func listed(paths []string) string {
	if len(paths) <= maxNamed {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxNamed], ", "), len(paths)-maxNamed)
}
