package warden

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	stateListen = 10 // TCP_LISTEN
	diagRequest = 56 // size of struct inet_diag_req_v2
	diagAnswer  = 72 // size of struct inet_diag_msg
)

// listener is a socket that listens.
type listener struct {
	cookie uint64 // the number that the kernel gives to no other socket
	inode  uint32 // of its file, as long as that is open
	local  netip.AddrPort
}

const anyPort = 0

// listeningAt asks the kernel which TCP sockets listen at a port, or at any. It collects them in
// one go, so a process that opens and closes sockets can't hide that of another one, as
// between two reads of /proc/net/tcp.
func listeningAt(port uint16) ([]listener, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var found []listener
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := unix.Sendto(fd, diagQuestion(family, port), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		for isDone := false; !isDone; {
			var some []listener
			if some, isDone, err = diagReceive(fd); err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
	}
	return found, nil
}

// diagQuestion asks for all sockets of a family that listen at a port.
func diagQuestion(family byte, port uint16) []byte {
	data := make([]byte, unix.NLMSG_HDRLEN+diagRequest)
	binary.NativeEndian.PutUint32(data[0:], uint32(len(data)))
	binary.NativeEndian.PutUint16(data[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(data[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request := data[unix.NLMSG_HDRLEN:]
	request[0], request[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(request[4:], 1<<stateListen)
	binary.BigEndian.PutUint16(request[8:], port)
	return data
}

// diagReceive reads a part of the answer.
func diagReceive(fd int) (found []listener, isDone bool, err error) {
	data := make([]byte, 64<<10)
	n, from, err := unix.Recvfrom(fd, data, 0)
	if err != nil {
		return nil, false, err
	}
	if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
		return nil, false, unix.EPROTO // It is not the kernel.
	}
	messages, err := syscall.ParseNetlinkMessage(data[:n])
	if err != nil {
		return nil, false, err
	}
	for _, m := range messages {
		switch {
		case m.Header.Type == unix.NLMSG_DONE:
			return found, true, nil
		case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < diagAnswer:
			return nil, false, unix.EPROTO // NLMSG_ERROR: there is nobody to ask.
		}
		address := netip.AddrFrom16([16]byte(m.Data[8:24])).Unmap()
		if m.Data[0] == unix.AF_INET {
			address = netip.AddrFrom4([4]byte(m.Data[8:12]))
		}
		found = append(found, listener{
			cookie: binary.NativeEndian.Uint64(m.Data[44:]), inode: binary.NativeEndian.Uint32(m.Data[68:]),
			local: netip.AddrPortFrom(address, binary.BigEndian.Uint16(m.Data[4:])),
		})
	}
	return found, false, nil
}
