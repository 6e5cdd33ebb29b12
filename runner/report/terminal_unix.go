//go:build unix

package report

import (
	"os"

	"golang.org/x/sys/unix"
)

// TerminalWidth returns the width in columns of the terminal that f is, 80 where it
// doesn't say, and false when f is none.
func TerminalWidth(f *os.File) (int, bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	if size.Col == 0 {
		return 80, true
	}
	return int(size.Col), true
}
