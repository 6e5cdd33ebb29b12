//go:build !linux

package acttest

import "os/exec"

func dieWithTest(*exec.Cmd) {}

// processes returns nothing where processes can't be found by their environment.
func (*machine) processes() []int { return nil }

func (*machine) children(int) []int { return nil }

func (*machine) kill() {}

func (*machine) describe([]int) []string { return nil }
