//go:build !linux

package workspace

import "os/exec"

func start(cmd *exec.Cmd) error { return cmd.Start() }
