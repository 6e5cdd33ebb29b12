package runner

import (
	"fmt"
	"path/filepath"
	"strings"
)

// DebugStep names one attempt of a state execution.
type DebugStep struct {
	N            int // number of the execution within the run
	Agent, State string
	Attempt      int
}

// DebugFolder returns the folder below dir for a step. Names of agents and states can't lead out
// of dir.
func DebugFolder(dir string, s DebugStep) string {
	name := fmt.Sprintf("%04d_%s_%s_%d", s.N, s.Agent, s.State, s.Attempt)
	return filepath.Join(dir, strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name))
}
