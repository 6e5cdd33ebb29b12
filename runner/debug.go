package runner

import (
	"fmt"
	"path/filepath"
	"strings"
)

// DebugStep identifies one attempt of a state execution.
type DebugStep struct {
	N            int // number of the execution in the run
	Agent, State string
	Attempt      int
}

// DebugFolder returns the folder inside dir for the files about a step. Slashes in the names of
// agents and states are replaced, so that the folder can't be outside of dir.
func DebugFolder(dir string, s DebugStep) string {
	name := fmt.Sprintf("%04d_%s_%s_%d", s.N, s.Agent, s.State, s.Attempt)
	return filepath.Join(dir, strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name))
}
