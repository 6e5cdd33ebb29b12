package ask

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsInteractive reports whether f is a console, at which a user can type.
func IsInteractive(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
