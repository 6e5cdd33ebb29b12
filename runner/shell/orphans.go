package shell

import (
	"github.com/raymond-action/raymond-action/internal/processes"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// AdoptOrphans makes this process the parent of processes whose own parent has ended, so that it
// can end them. It must be called once, before the first run.
func AdoptOrphans() error { return proc.AdoptOrphans() }

// EndDescendants ends every descendant of this process, even if it tries to hide, and returns
// messages about processes that it could not end. It must be called at the end of the program,
// when no other code starts or waits for processes. It does nothing on systems other than Linux.
func EndDescendants() []string { return processes.EndDescendants() }

// Sweep ends every process that a run with the given mark has left on this machine, whether a script
// or an agent started it. It returns the number of these processes. It must be called before a run
// that may have crashed is resumed.
func Sweep(mark string) (int, error) { return proc.Sweep(mark) }
