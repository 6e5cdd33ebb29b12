//go:build !unix

package workspace

import "os/exec"

func killGroup(*exec.Cmd) {}

// isWritable returns false: on this system only the directory of a program decides.
func isWritable(string) bool { return false }
