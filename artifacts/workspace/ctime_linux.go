package workspace

import (
	"os"
	"syscall"
)

// changeTime returns the time of the last change to a file or its inode, in nanoseconds. Unlike the
// modification time, programs can't set it.
func changeTime(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
