package workspace

import (
	"os"
	"syscall"
)

// changeTime returns the time of the last change to a file or its inode, in nanoseconds. Programs can set
// a file's modification time, but not this time.
func changeTime(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}
