//go:build unix

package report

import (
	"os"

	"golang.org/x/sys/unix"
)

// TerminalWidth returns the width of the terminal f in columns, or 80 if the width is unknown. It
// returns false if f is not a terminal.
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
