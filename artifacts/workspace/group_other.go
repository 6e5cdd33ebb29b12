//go:build !unix

package workspace

import "os/exec"

// killGroup does nothing, because this system has no process groups.
func killGroup(*exec.Cmd) {}

// isWritable returns false, because Find checks only the directory of a program on this system.
func isWritable(string) bool { return false }
