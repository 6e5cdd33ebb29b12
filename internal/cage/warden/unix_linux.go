package warden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// unixTarget opens the unix socket that an address names, if it may be reached. The
// descriptor stands for the socket itself, whatever its name leads to from now on. The
// caller closes it.
func (w *warden) unixTarget(c call, s socket, address []byte) (int, unix.Errno) {
	switch {
	case len(address) <= 2 || binary.NativeEndian.Uint16(address) != unix.AF_UNIX:
		return -1, unix.EINVAL
	case s.kind != unix.SOCK_STREAM && s.kind != unix.SOCK_SEQPACKET:
		return -1, unix.EACCES
	case address[2] == 0:
		return -1, w.refuse("@"+string(bytes.TrimRight(address[3:], "\x00")), unix.ECONNREFUSED)
	}
	name, _, _ := bytes.Cut(address[2:], []byte{0})
	fd, err := c.open(string(name))
	if err != nil {
		return -1, errnoOf(err)
	}
	if errno := w.checkSocket(fd); errno != 0 {
		unix.Close(fd)
		return -1, errno
	}
	return fd, 0
}

// checkSocket looks at a file that a caged process wants to connect to.
func (w *warden) checkSocket(fd int) unix.Errno {
	var file unix.Stat_t
	if err := unix.Fstat(fd, &file); err != nil {
		return errnoOf(err)
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	holds := func(folder string) bool { return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/") }
	switch {
	case err != nil:
		return errnoOf(err)
	case file.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return unix.ECONNREFUSED
	case file.Nlink == 1 && slices.ContainsFunc(w.rules.Sockets, holds):
		return 0
	}
	return w.refuse(path, unix.EACCES)
}

// open opens what a path names for the caller, without any effect on it.
func (c call) open(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	// What a process calls "self" is not this one.
	if rest, ok := strings.CutPrefix(path, "/proc/self/"); ok {
		path = fmt.Sprintf("/proc/%d/%s", c.thread, rest)
	}
	if strings.HasPrefix(path, "/") {
		return unix.Open(path, flags, 0)
	}
	folder, err := unix.Open(fmt.Sprintf("/proc/%d/cwd", c.thread), flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(folder)
	return unix.Openat(folder, path, flags, 0)
}
