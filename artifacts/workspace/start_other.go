//go:build !linux

package workspace

import (
	"os/exec"

	"github.com/raymond-action/raymond-action/internal/cage"
)

func start(cmd *exec.Cmd, _ *cage.Cage) error { return cmd.Start() }
