//go:build !linux

package workspace

import (
	"os/exec"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// start starts a program. This system has neither cages nor the limits that exist on Linux.
func start(cmd *exec.Cmd, _ *cage.Cage) error { return cmd.Start() }
