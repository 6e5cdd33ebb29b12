package warden

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Constants of the kernel's socket diagnostics (sock_diag).
const (
	stateListen = 10 // the state of listening sockets (TCP_LISTEN), also of unix sockets
	diagRequest = 56 // size of struct inet_diag_req_v2, which is longer than struct unix_diag_req
	inetAnswer  = 72 // size of struct inet_diag_msg
	unixAnswer  = 16 // size of struct unix_diag_msg
	showFile    = 2  // requests the file of each unix socket (UDIAG_SHOW_VFS)
	fileKnown   = 1  // the attribute that contains this file (UNIX_DIAG_VFS)
)

// listener is a socket in the state LISTEN.
type listener struct {
	cookie uint64 // identifies the socket; the kernel never reuses it
	// inode is the inode of the socket's file. It may be reused after the file is closed.
	inode uint32
	local netip.AddrPort
	bound fileID // the file of a unix socket; zero if its name is abstract
}

// fileID identifies the file of a unix socket in the kernel's socket diagnostics.
type fileID struct{ inode, device uint32 }

// anyPort makes listListeners return the listening sockets of all ports.
const anyPort = 0

// The families of sockets that can listen.
var ipFamilies, unixFamilies = []byte{unix.AF_INET, unix.AF_INET6}, []byte{unix.AF_UNIX}

// listListeners asks the kernel for the TCP sockets that listen on a port, or for all listening sockets
// if port is anyPort. The kernel lists all sockets of a family in one dump. Therefore a process can't
// hide another process's socket by opening and closing sockets during the dump. It could do so between
// two reads of /proc/net/tcp.
func listListeners(families []byte, port uint16) ([]listener, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var found []listener
	for _, family := range families {
		if err := unix.Sendto(fd, encodeDiagRequest(family, port), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		for isDone := false; !isDone; {
			var some []listener
			if some, isDone, err = receiveDiag(fd); err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
	}
	return found, nil
}

// encodeDiagRequest encodes a request for all sockets of a family that listen on a port.
func encodeDiagRequest(family byte, port uint16) []byte {
	data := make([]byte, unix.NLMSG_HDRLEN+diagRequest)
	binary.NativeEndian.PutUint32(data[0:], uint32(len(data)))
	binary.NativeEndian.PutUint16(data[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(data[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request := data[unix.NLMSG_HDRLEN:]
	request[0], request[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(request[4:], 1<<stateListen)
	binary.BigEndian.PutUint16(request[8:], port)
	if family == unix.AF_UNIX {
		binary.NativeEndian.PutUint32(request[12:], showFile)
	}
	return data
}

// receiveDiag reads one message of the kernel's response. isDone is true if it was the last message.
func receiveDiag(fd int) (found []listener, isDone bool, err error) {
	data := make([]byte, 64<<10)
	n, from, err := unix.Recvfrom(fd, data, 0)
	if err != nil {
		return nil, false, err
	}
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
		return nil, false, unix.EPROTO // the sender is not the kernel
	}
	messages, err := syscall.ParseNetlinkMessage(data[:n])
	if err != nil {
		return nil, false, err
	}
	for _, m := range messages {
		l, isKnown := parseListener(m.Data)
		switch {
		case m.Header.Type == unix.NLMSG_DONE:
			return found, true, nil
		case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || !isKnown:
			return nil, false, unix.EPROTO // an NLMSG_ERROR means that this kernel has no socket diagnostics
		}
		found = append(found, l)
	}
	return found, false, nil
}

// parseListener decodes the kernel's record of one socket. It returns false if the record is too short.
func parseListener(data []byte) (l listener, ok bool) {
	number := binary.NativeEndian
	switch {
	case len(data) >= unixAnswer && data[0] == unix.AF_UNIX:
		l.inode, l.cookie = number.Uint32(data[4:]), number.Uint64(data[8:])
		if file := data[unixAnswer:]; len(file) >= 12 && number.Uint16(file[2:]) == fileKnown {
			l.bound = fileID{number.Uint32(file[4:]), number.Uint32(file[8:])}
		}
		return l, true
	case len(data) < inetAnswer:
		return l, false
	}
	address := netip.AddrFrom16([16]byte(data[8:24])).Unmap()
	if data[0] == unix.AF_INET {
		address = netip.AddrFrom4([4]byte(data[8:12]))
	}
	return listener{
		cookie: number.Uint64(data[44:]), inode: number.Uint32(data[68:]),
		local: netip.AddrPortFrom(address, binary.BigEndian.Uint16(data[4:])),
	}, true
}

// identify returns the fileID of an open file. It takes the device number from the file's mount, because
// some file systems report other numbers for their files.
func identify(fd int) (id fileID, err error) {
	var file unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_MNT_ID, &file); err != nil {
		return id, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		var mount, parent uint64
		var major, minor uint32
		if _, err := fmt.Sscanf(line, "%d %d %d:%d", &mount, &parent, &major, &minor); err == nil && mount == file.Mnt_id {
			return fileID{uint32(file.Ino), major<<20 | minor}, nil
		}
	}
	return id, cmp.Or(err, error(unix.ENOENT))
}
