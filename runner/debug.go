package runner

import (
	"fmt"
	"path/filepath"
)

// DebugFolder is the folder below dir for one attempt of a state execution; n is
// the number of the execution within the run.
func DebugFolder(dir string, n int, agent, state string, attempt int) string {
	return filepath.Join(dir, fmt.Sprintf("%04d_%s_%s_%d", n, agent, state, attempt))
}
