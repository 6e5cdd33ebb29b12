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

// call is a system call of a caged thread, which waits for the answer.
type call struct {
	id     uint64
	thread int
	number int
	args   [6]uint64
}

// Sizes of the kernel's structures: the call is struct seccomp_notif, the answer struct
// seccomp_notif_resp. A newer kernel may have longer ones, and then wants that much room.
const (
	callSize   = 80
	answerSize = 24
)

// sizes returns how much room this kernel wants for a call and an answer.
func sizes() (callRoom, answerRoom int) {
	var got [6]byte // struct seccomp_notif_sizes, three numbers of two bytes
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&got[0])))
	if errno != 0 {
		return callSize, answerSize
	}
	return max(callSize, int(binary.NativeEndian.Uint16(got[0:]))), max(answerSize, int(binary.NativeEndian.Uint16(got[2:])))
}

func ioctl(fd int, request uint, data []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	if errno != 0 {
		return errno
	}
	return nil
}

// receive fetches a call. It fails with ENOENT if the caller has been killed.
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

// respond ends the wait of a caller.
func respond(listener int, id uint64, v verdict) {
	_, room := sizes()
	data := make([]byte, room)
	binary.NativeEndian.PutUint64(data, id)
	if v.goesOn {
		binary.NativeEndian.PutUint32(data[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
	} else {
		binary.NativeEndian.PutUint32(data[16:], uint32(-int32(v.errno)))
	}
	_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, data) // ENOENT: the caller was killed
}

// isValid reports whether the caller still waits. What was read by the number of its
// thread before was then read of no other process.
func (c call) isValid(listener int) bool {
	data := binary.NativeEndian.AppendUint64(nil, c.id)
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, data) == nil
}

// mostAddress is the size of the kernel's struct sockaddr_storage.
const mostAddress = 128

// read copies size bytes of the caller's memory. More than mostAddress is an error, since no socket address is longer.
func (c call) read(from uint64, size int) ([]byte, error) {
	if size < 0 || size > mostAddress {
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

// socket is a socket of the caller, as a descriptor of ours.
type socket struct {
	fd                     int
	domain, kind, protocol int
}

// socket fetches the socket that a call was given. The caller closes it.
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

// openThread returns a descriptor of the calling thread or, before Linux 6.9, of its
// process: there, a thread with descriptors of its own names others than it means.
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

// processOf returns the process that a thread belongs to.
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

// connectTo is connect(2), for addresses of every family.
func connectTo(fd int, address []byte) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(address))), uintptr(len(address)))
	return errno
}

// errnoOf returns the number of an error of a system call.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
