package warden

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attackOdd makes calls of which the kernel itself would refuse most, and says how
// each ends. The arguments are an address where nobody takes a connection, and one
// that may be reached.
func attackOdd(args []string) string {
	_, full := sockaddr(netip.MustParseAddrPort(args[0]))
	_, reached := sockaddr(netip.MustParseAddrPort(args[1]))
	var said []string
	say := func(what string, err error) { said = append(said, what+":"+errnoName(err)) }
	raw := func(what string, address []byte) {
		said = append(said, what+":"+rawConnect(newSocket(unix.AF_INET, unix.SOCK_STREAM), address))
	}
	tcp := func(flags int) int { return newSocket(unix.AF_INET, unix.SOCK_STREAM|flags) }

	say("no-descriptor", unix.Connect(999, reached))
	say("no-socket", unix.Connect(0, reached))
	raw("short", []byte{unix.AF_INET, 0, 0, 80})
	raw("long", make([]byte, 200))
	raw("empty", nil)
	raw("family", make([]byte, 16))
	raw("unix-on-tcp", unixAddress("/x"))
	say("netlink", unix.Connect(newSocket(unix.AF_NETLINK, unix.SOCK_RAW), &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	fd := tcp(0)
	say("connect", unix.Connect(fd, reached))
	say("again", unix.Connect(fd, reached))
	say("non-blocking", unix.Connect(tcp(unix.SOCK_NONBLOCK), full))
	fd = tcp(0)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 50_000})
	begin := time.Now()
	say("timeout", unix.Connect(fd, full))
	said = append(said, fmt.Sprint(time.Since(begin) > 40*time.Millisecond))
	return strings.Join(said, " ")
}

// attackChange tries to change another process.
func attackChange(args []string) string {
	process := number(args[0])
	var old unix.Rlimit
	var said []string
	say := func(err error) { said = append(said, errnoName(err)) }
	say(unix.Prlimit(process, unix.RLIMIT_NOFILE, nil, &old))
	say(unix.Prlimit(process, unix.RLIMIT_NOFILE, &old, nil))
	say(unix.Setpriority(unix.PRIO_PROCESS, process, 19))
	var cpus unix.CPUSet
	cpus.Set(0)
	say(unix.SchedSetaffinity(process, &cpus))
	say(unix.SchedSetAttr(process, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
	return strings.Join(said, " ")
}

// attackChangeOwn does the same to a child.
func attackChangeOwn([]string) string {
	child := exec.Command("/proc/self/exe", "idle")
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		return err.Error()
	}
	defer child.Wait()
	defer child.Process.Kill()
	return attackChange([]string{fmt.Sprint(child.Process.Pid)})
}
