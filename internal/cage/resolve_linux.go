package cage

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Resolve resolves the symbolic links in a path. It returns "" if the path is relative or doesn't exist.
// It lets the kernel resolve the whole path with one call, while filepath.EvalSymlinks needs a call for
// each element.
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
