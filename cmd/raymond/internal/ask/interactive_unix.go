//go:build unix

package ask

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsInteractive reports whether a user can type at f: f is a terminal, and this process runs in the
// foreground. In the background, a read from the terminal would stop the process.
func IsInteractive(f *os.File) bool {
	if _, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err != nil {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // an error means that f is not the controlling terminal
}
