package confine

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/places"
)

// maxNamed is how many paths one line names.
const maxNamed = 3

// tellExposed tells what the cage can't keep from agents, since a folder that they may
// write contains it: what is hidden, and what they must not write.
func (c *Cages) tellExposed(plan places.Plan) {
	if paths := plan.Files.Exposed(); len(paths) > 0 {
		c.told.note("cage: agents can read and write " + listed(paths) + ", since a folder that they may write contains it")
	}
	if paths := plan.Unguarded(); len(paths) > 0 {
		c.told.note("cage: agents can write " + listed(paths) + ", since a folder that they may write contains it")
	}
}

// listed names the first of some paths.
func listed(paths []string) string {
	if len(paths) <= maxNamed {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxNamed], ", "), len(paths)-maxNamed)
}
