package report

import (
	"os"

	"golang.org/x/sys/windows"
)

// TerminalWidth returns the width of the console f in columns. It also makes the console interpret
// escape sequences. It returns false if f is not a console or doesn't support them.
func TerminalWidth(f *os.File) (int, bool) {
	console := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return 0, false
	}
	if err := windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		return 0, false
	}
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(console, &info); err != nil {
		return 0, false
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}
