package warden

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attacks are the operations that a caged test process can run. Each operation returns its result as text.
var attacks = map[string]func(args []string) string{
	"unix":       attackUnix,
	"ip":         connectAll(unix.SOCK_STREAM),
	"udp":        connectAll(unix.SOCK_DGRAM),
	"own":        attackOwn,
	"listen":     attackListen,
	"beside":     attackBeside,
	"bound":      attackBound,
	"rewrite":    attackRewrite,
	"swap":       attackSwap,
	"many":       attackMany,
	"odd":        attackOdd,
	"hang":       attackHang,
	"thread":     attackThread,
	"change":     attackChange,
	"changeself": attackChangeOwn,
	"idle":       func([]string) string { time.Sleep(time.Hour); return "" },
}

// serve is not in the literal above, because attackServe uses the map itself.
func init() { attacks["serve"] = attackServe }

func newSocket(domain, kind int) int {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fail("socket", err)
	}
	return fd
}

// attackServe listens on a unix socket at a path and then runs the attack in the remaining arguments.
func attackServe(args []string) string {
	listener, err := net.Listen("unix", args[0])
	if err != nil {
		return err.Error()
	}
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			conn.Close()
		}
	}()
	return attacks[args[1]](args[2:])
}

// attackUnix connects to a unix socket. If there is a second argument, it changes to that directory before.
func attackUnix(args []string) string {
	if len(args) > 1 {
		if err := os.Chdir(args[1]); err != nil {
			return errnoName(err)
		}
	}
	return errnoName(unix.Connect(newSocket(unix.AF_UNIX, unix.SOCK_STREAM), &unix.SockaddrUnix{Name: args[0]}))
}

// sockaddr returns the address family and the socket address of a target.
func sockaddr(target netip.AddrPort) (int, unix.Sockaddr) {
	if target.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(target.Port()), Addr: target.Addr().As16()}
}

// connectAll returns an attack that connects a socket of the given kind to each address in its arguments.
func connectAll(kind int) func([]string) string {
	return func(targets []string) string {
		var result []string
		for _, target := range targets {
			family, address := sockaddr(netip.MustParseAddrPort(target))
			fd := newSocket(family, kind)
			result = append(result, errnoName(unix.Connect(fd, address)))
			unix.Close(fd)
		}
		return strings.Join(result, " ")
	}
}

// attackOwn listens on the first address. From a child process, it then connects to the same port at
// each of the other addresses.
func attackOwn(args []string) string {
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err.Error()
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	targets := []string{"ip"}
	for _, host := range args[1:] {
		targets = append(targets, net.JoinHostPort(host, port))
	}
	child := exec.Command("/proc/self/exe", targets...)
	child.Stderr = os.Stderr
	result, err := child.Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(result))
}

// attackListen calls listen twice on a socket at each address, and on a socket that is not bound. It
// returns the results and the devices to which the sockets are bound.
func attackListen(args []string) string {
	var result []string
	for i := range len(args) + 1 {
		fd := newSocket(unix.AF_INET6, unix.SOCK_STREAM)
		if i < len(args) {
			family, address := sockaddr(netip.MustParseAddrPort(args[i]))
			fd = newSocket(family, unix.SOCK_STREAM)
			if err := unix.Bind(fd, address); err != nil {
				return "bind " + errnoName(err)
			}
		}
		first, second := unix.Listen(fd, 1), unix.Listen(fd, 2)
		device, _ := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE)
		result = append(result, errnoName(first), errnoName(second), device)
	}
	return strings.Join(result, " ")
}

// attackBeside listens on two ports on which other processes listen already. On the first port, it
// listens only over IPv6. On the second port, it uses SO_REUSEPORT.
func attackBeside(args []string) string {
	var result []string
	for i, option := range [][2]int{{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, {unix.SOL_SOCKET, unix.SO_REUSEPORT}} {
		family, address := sockaddr(netip.MustParseAddrPort(args[i]))
		fd := newSocket(family, unix.SOCK_STREAM)
		unix.SetsockoptInt(fd, option[0], option[1], 1)
		result = append(result, "bind", errnoName(unix.Bind(fd, address)), "listen", errnoName(unix.Listen(fd, 1)))
	}
	return strings.Join(result, " ")
}

// attackBound listens on the first address if its port isn't 0. Then it binds a socket to the second
// address and connects it to the third. This matters because for a bound socket, the unspecified address
// doesn't always mean 127.0.0.1 or ::1.
func attackBound(args []string) string {
	if own := netip.MustParseAddrPort(args[0]); own.Port() != 0 {
		if _, err := net.Listen("tcp", args[0]); err != nil {
			return err.Error()
		}
	}
	family, bound := sockaddr(netip.MustParseAddrPort(args[1]))
	fd := newSocket(family, unix.SOCK_STREAM)
	if err := unix.Bind(fd, bound); err != nil {
		return "bind " + errnoName(err)
	}
	_, address := sockaddr(netip.MustParseAddrPort(args[2]))
	return fmt.Sprint(unix.Connect(fd, address) == nil) // the errno depends on the kernel
}

// repeatInThread calls the function do repeatedly in another thread, until the returned function is called.
func repeatInThread(do func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		for {
			select {
			case <-done:
				return
			default:
				do()
			}
		}
	}()
	return func() { close(done) }
}

// attackRewrite repeatedly connects to the first path, while another thread keeps overwriting the
// address in memory with the second path.
func attackRewrite(args []string) string {
	good, bad := unixAddress(args[0]), unixAddress(args[1])
	address := make([]byte, 110)
	defer repeatInThread(func() {
		copy(address, good)
		copy(address, bad)
	})()
	counts := map[string]int{}
	for range 2000 {
		fd := newSocket(unix.AF_UNIX, unix.SOCK_STREAM)
		counts[rawConnect(fd, address)]++
		unix.Close(fd)
	}
	return fmt.Sprint(counts["ok"] > 0, counts["EACCES"] > 0, len(counts))
}

// rawConnect connects to a socket address in any format and returns the name of the errno.
func rawConnect(fd int, address []byte) string {
	if errno := connectTo(fd, address); errno != 0 {
		return errnoName(errno)
	}
	return "ok"
}

// unixAddress returns the kernel's struct sockaddr_un for a path.
func unixAddress(path string) []byte {
	address := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(address, path...), make([]byte, 108-len(path))...)
}

// attackSwap connects a descriptor to an address that is forbidden for TCP. At the same time, another thread
// keeps replacing the TCP socket behind the descriptor with a unix socket and back.
func attackSwap(args []string) string {
	_, forbidden := sockaddr(netip.MustParseAddrPort(args[0]))
	tcp, local, fd := newSocket(unix.AF_INET, unix.SOCK_STREAM), newSocket(unix.AF_UNIX, unix.SOCK_STREAM), 100
	unix.Dup3(tcp, fd, 0)
	defer repeatInThread(func() {
		unix.Dup3(local, fd, 0)
		unix.Dup3(tcp, fd, 0)
	})()
	connected := 0
	for range 2000 {
		if unix.Connect(fd, forbidden) == nil {
			connected++
		}
	}
	return fmt.Sprint(connected)
}

// attackMany makes 200 connections at the same time to a server in its own process, and reads the
// responses.
func attackMany([]string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	answers := make(chan string)
	for range 200 {
		go func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				answers <- err.Error()
				return
			}
			defer conn.Close()
			text, _ := io.ReadAll(conn)
			answers <- string(text)
		}()
	}
	counts := map[string]int{}
	for range 200 {
		counts[<-answers]++
	}
	return fmt.Sprint(counts)
}

// attackHang starts connects that never return, prints a line and waits. The first argument is the number
// of connects. The second is the target: an address, or the path of a unix socket on which attackHang
// itself listens.
func attackHang(args []string) string {
	var address unix.Sockaddr = &unix.SockaddrUnix{Name: args[1]}
	family := unix.AF_UNIX
	if target, err := netip.ParseAddrPort(args[1]); err == nil {
		family, address = sockaddr(target)
	} else if fd := newSocket(family, unix.SOCK_STREAM); unix.Bind(fd, address) != nil || unix.Listen(fd, 0) != nil {
		return "can't listen"
	}
	for range number(args[0]) {
		go unix.Connect(newSocket(family, unix.SOCK_STREAM), address)
	}
	fmt.Println("hangs")
	time.Sleep(time.Hour)
	return ""
}

// attackThread connects to a unix socket in a thread that has its own descriptor table.
func attackThread(args []string) string {
	result := make(chan string)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends together with the goroutine
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			result <- err.Error()
			return
		}
		fd := newSocket(unix.AF_UNIX, unix.SOCK_STREAM)
		result <- errnoName(unix.Connect(fd, &unix.SockaddrUnix{Name: args[0]}))
	}()
	return <-result
}
