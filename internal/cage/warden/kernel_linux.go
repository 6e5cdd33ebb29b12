package warden

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe" //nolint:depguard // These system calls take pointers and have no wrappers in golang.org/x/sys.

	"golang.org/x/sys/unix"
)

// call is a system call of a caged thread. The thread is blocked until the warden responds.
type call struct {
	id     uint64
	thread int
	number int
	args   [6]uint64
}

// Sizes in bytes of the kernel's struct seccomp_notif (a call) and struct seccomp_notif_resp (a
// response). In a newer kernel, these structures may be longer and need larger buffers.
const (
	callSize   = 80
	answerSize = 24
)

// sizes returns the sizes of the buffers for a call and a response that the running kernel needs.
func sizes() (callRoom, answerRoom int) {
	var got [6]byte // struct seccomp_notif_sizes: three numbers of two bytes
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&got[0])))
	if errno != 0 {
		return callSize, answerSize
	}
	return max(callSize, int(binary.NativeEndian.Uint16(got[0:]))), max(answerSize, int(binary.NativeEndian.Uint16(got[2:])))
}

// ioctl calls ioctl(2) with a pointer to data.
func ioctl(fd int, request uint, data []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	if errno != 0 {
		return errno
	}
	return nil
}

// receive reads the next call. It returns ENOENT if the caller has been killed.
func receive(listener int) (call, error) {
	room, _ := sizes()
	data := make([]byte, room)
	if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, data); err != nil {
		return call{}, err
	}
	c := call{
		id:     binary.NativeEndian.Uint64(data),
		thread: int(binary.NativeEndian.Uint32(data[8:])),
		number: int(int32(binary.NativeEndian.Uint32(data[16:]))),
	}
	for i := range c.args {
		c.args[i] = binary.NativeEndian.Uint64(data[32+8*i:])
	}
	return c, nil
}

// respond sends the verdict about a call to the kernel, so that the caller continues.
func respond(listener int, id uint64, v verdict) {
	_, room := sizes()
	data := make([]byte, room)
	binary.NativeEndian.PutUint64(data, id)
	if v.isAllowed {
		binary.NativeEndian.PutUint32(data[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
	} else {
		binary.NativeEndian.PutUint32(data[16:], uint32(-int32(v.errno)))
	}
	_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, data) // the error is ENOENT if the caller was killed
}

// isValid reports whether the caller is still blocked in the call. It must be called after everything
// has been read from the thread, and before the data is used. If the caller was killed, another process
// may have its thread id, and the data may come from that process.
func (c call) isValid(listener int) bool {
	data := binary.NativeEndian.AppendUint64(nil, c.id)
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, data) == nil
}

// maxAddress is the size of the kernel's struct sockaddr_storage.
const maxAddress = 128

// read copies size bytes from the caller's memory. It returns EINVAL if size is larger than maxAddress,
// because no socket address is that long.
func (c call) read(from uint64, size int) ([]byte, error) {
	if size < 0 || size > maxAddress {
		return nil, unix.EINVAL
	}
	data := make([]byte, size)
	if size == 0 {
		return data, nil
	}
	local := []unix.Iovec{{Base: &data[0]}}
	local[0].SetLen(size)
	remote := []unix.RemoteIovec{{Base: uintptr(from), Len: size}}
	n, err := unix.ProcessVMReadv(c.thread, local, remote, 0)
	if err == nil && n < size {
		err = unix.EFAULT
	}
	return data, err
}

// socket is this process's duplicate of a socket that belongs to the caller.
type socket struct {
	fd                     int
	domain, kind, protocol int
}

// socket duplicates the socket that is the first argument of the call. The caller must close its
// descriptor.
func (c call) socket() (socket, error) {
	process, err := c.openThread()
	if err != nil {
		return socket{}, err
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, int(int32(c.args[0])), 0)
	if err != nil {
		return socket{}, err
	}
	s := socket{fd: fd}
	for option, value := range map[int]*int{unix.SO_DOMAIN: &s.domain, unix.SO_TYPE: &s.kind, unix.SO_PROTOCOL: &s.protocol} {
		if *value, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil {
			unix.Close(fd)
			return socket{}, err
		}
	}
	return s, nil
}

// openThread returns a pidfd for the calling thread. Before Linux 6.9, it returns a pidfd for the
// thread's process instead. This makes a difference only if the thread has its own descriptor table:
// the method socket then uses the process's table, in which the same number may be another descriptor.
func (c call) openThread() (int, error) {
	fd, err := unix.PidfdOpen(c.thread, unix.PIDFD_THREAD)
	if !errors.Is(err, unix.EINVAL) {
		return fd, err
	}
	process, err := processOf(c.thread)
	if err != nil {
		return -1, err
	}
	return unix.PidfdOpen(process, 0)
}

// processOf returns the id of the process to which a thread belongs. It returns ESRCH if the thread
// doesn't exist.
func processOf(thread int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0, unix.ESRCH
	}
	for line := range strings.Lines(string(status)) {
		if number, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(number))
		}
	}
	return 0, unix.ESRCH
}

// connectTo calls connect(2) with an address of any family, and returns the errno.
func connectTo(fd int, address []byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// errnoOf returns the errno of a failed system call. It returns EIO if err contains no errno.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
