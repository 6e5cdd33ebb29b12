package shell

import (
	"github.com/raymond-action/raymond-action/internal/processes"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// AdoptOrphans makes this process inherit what its children leave behind, so that it
// can end it. It is called once, before the first run.
func AdoptOrphans() error { return proc.AdoptOrphans() }

// EndDescendants ends everything that descends from this process, however it tries to hide, and
// returns what it could not end, for people. It is for the end of the program, when
// nothing of it starts or awaits a process any more. Elsewhere than on Linux it does
// nothing.
func EndDescendants() []string { return processes.EndDescendants() }

// Sweep ends every process that a run of the given mark left behind on this
// machine, scripts and agents alike, and returns how many there were. It is called
// before a run that may have crashed is resumed.
func Sweep(mark string) (int, error) { return proc.Sweep(mark) }
