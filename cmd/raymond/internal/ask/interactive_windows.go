package ask

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsInteractive reports whether a user can type at f: it is a console.
func IsInteractive(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
