package runner

import (
	"fmt"
	"path/filepath"
	"strings"
)

// DebugFolder is the folder below dir for one attempt of a state execution; n is
// the number of the execution within the run. Names never lead out of dir.
func DebugFolder(dir string, n int, agent, state string, attempt int) string {
	name := fmt.Sprintf("%04d_%s_%s_%d", n, agent, state, attempt)
	return filepath.Join(dir, strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name))
}
