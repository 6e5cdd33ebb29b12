package workspace

import (
	"os"
	"syscall"
)

// changeTime returns when a file or anything of its inode last changed, in
// nanoseconds: what copying programs can't set back.
func changeTime(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
