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

// attackOdd makes unusual calls, most of which the kernel itself would reject, and returns their
// results. The arguments are an address at which a connect never completes, and an address at which a
// server listens.
func attackOdd(args []string) string {
	_, full := sockaddr(netip.MustParseAddrPort(args[0]))
	_, reached := sockaddr(netip.MustParseAddrPort(args[1]))
	var result []string
	add := func(what string, err error) { result = append(result, what+":"+errnoName(err)) }
	raw := func(what string, address []byte) {
		result = append(result, what+":"+rawConnect(newSocket(unix.AF_INET, unix.SOCK_STREAM), address))
	}
	tcp := func(flags int) int { return newSocket(unix.AF_INET, unix.SOCK_STREAM|flags) }

	add("no-descriptor", unix.Connect(999, reached))
	add("no-socket", unix.Connect(0, reached))
	raw("short", []byte{unix.AF_INET, 0, 0, 80})
	raw("long", make([]byte, 200))
	raw("empty", nil)
	raw("family", make([]byte, 16))
	raw("unix-on-tcp", unixAddress("/x"))
	add("netlink", unix.Connect(newSocket(unix.AF_NETLINK, unix.SOCK_RAW), &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	fd := tcp(0)
	add("connect", unix.Connect(fd, reached))
	add("again", unix.Connect(fd, reached))
	add("non-blocking", unix.Connect(tcp(unix.SOCK_NONBLOCK), full))
	fd = tcp(0)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 50_000})
	begin := time.Now()
	add("timeout", unix.Connect(fd, full))
	result = append(result, fmt.Sprint(time.Since(begin) > 40*time.Millisecond))
	return strings.Join(result, " ")
}

// attackChange tries to change the limits, the priority and the scheduling of another process, whose id
// is the argument.
func attackChange(args []string) string {
	process := number(args[0])
	var old unix.Rlimit
	var result []string
	add := func(err error) { result = append(result, errnoName(err)) }
	add(unix.Prlimit(process, unix.RLIMIT_NOFILE, nil, &old))
	add(unix.Prlimit(process, unix.RLIMIT_NOFILE, &old, nil))
	add(unix.Setpriority(unix.PRIO_PROCESS, process, 19))
	var cpus unix.CPUSet
	cpus.Set(0)
	add(unix.SchedSetaffinity(process, &cpus))
	add(unix.SchedSetAttr(process, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
	return strings.Join(result, " ")
}

// attackChangeOwn runs attackChange against its own child process.
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
