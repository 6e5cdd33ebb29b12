package warden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unixTarget opens the file of the unix socket that an address names. It returns an errno unless
// processes in the cage listen on that socket. The path may point to another file afterwards, but the
// returned descriptor refers to the socket's file, and no other socket can be bound to that file. The
// caller must close the descriptor.
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
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	file, idErr := identify(fd)
	w.lock.Lock()
	who, _ := w.listenerOwner(unixFamilies, anyPort, func(l listener) bool { return l.bound == file })
	w.lock.Unlock()
	var errno unix.Errno
	switch {
	case err != nil || idErr != nil || who == ownerOutside:
		errno = w.refuse(path, unix.EACCES)
	case who == ownerNone:
		errno = unix.ECONNREFUSED
	default:
		return fd, 0
	}
	unix.Close(fd)
	return -1, errno
}

// open opens the file to which a path refers for the caller of c. It uses O_PATH, which doesn't affect
// the file.
func (c call) open(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	// In this process, /proc/self would be the warden's own directory.
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
