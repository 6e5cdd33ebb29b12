package cage

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Resolve returns a path without symbolic links; "" if it doesn't exist. It needs one lookup in the kernel,
// while filepath.EvalSymlinks needs one for each part of the path.
func Resolve(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil || n == len(buf) {
		return ""
	}
	target := string(buf[:n])
	if !filepath.IsAbs(target) || strings.HasSuffix(target, " (deleted)") {
		return evalSymlinks(path)
	}
	return target
}
