package ask

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsPresent reports whether somebody can type at f: it is a console.
func IsPresent(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
