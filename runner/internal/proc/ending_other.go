//go:build !linux

package proc

import "os"

// endingOf is how a process ended, of which there is no state when somebody else had
// collected it.
func endingOf(s *os.ProcessState) ending {
	if s == nil {
		return ending{code: -1}
	}
	return ending{code: s.ExitCode(), cpu: s.UserTime() + s.SystemTime()}
}
