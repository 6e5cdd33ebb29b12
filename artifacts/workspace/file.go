package workspace

import (
	"fmt"
	"os"
)

// fileMode returns git's mode of a regular file.
func fileMode(info os.FileInfo) string {
	if info.Mode()&0o100 != 0 {
		return modeExec
	}
	return modeFile
}

// formatBytes formats a number of bytes for messages.
func formatBytes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
