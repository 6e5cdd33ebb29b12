//go:build linux && (amd64 || arm64)

package cage

import (
	"slices"

	"golang.org/x/sys/unix"
)

// filterOptions determine the rules of a filter.
type filterOptions struct {
	isOpen    bool // the network is not limited (Network.IsOpen)
	hasWarden bool // a warden decides about the calls whose arguments a filter can't check
	// hasUnix is true if a warden, of this cage or an outer one, checks where unix sockets connect.
	hasUnix  bool
	isScoped bool // Landlock prevents signals to processes outside of the cage
	isTraced bool // Landlock prevents tracing of processes outside of the cage
	// protected are the ids of processes that must not receive signals. They are used only without isScoped.
	protected []int
}

// filter returns the seccomp program of a cage.
func filter(o filterOptions) ([]byte, error) {
	const flags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	denied := refuse(uint32(unix.EPERM))
	rules := slices.Concat(
		refuseAll(uint32(unix.ENOSYS), unsupported...), refuseAll(uint32(unix.EPERM), forbidden...), archRules(),
		[]rule{on(unix.SYS_SETRLIMIT, when(refuse(uint32(unix.EPERM)), is(0, unix.RLIMIT_RTTIME)))}, // this limit is the cage's mark
		[]rule{
			on(unix.SYS_CLONE, when(denied, hasAny(0, flags))),
			on(unix.SYS_UNSHARE, when(denied, hasAny(0, flags|unix.CLONE_NEWTIME))),
		}, socketRules(o), processRules(o),
	)
	return assemble(rules)
}

// unsupported are calls that fail with ENOSYS, as on an old kernel, so that programs use other calls.
var unsupported = []uintptr{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_CLONE3, // its flags are in memory, which a filter can't read
}

// forbidden are calls that agents don't need and in which the kernel has had vulnerabilities.
var forbidden = []uintptr{
	unix.SYS_USERFAULTFD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// socketRules returns the rules for sockets. They forbid sockets that could send data to a target that
// neither the filter nor the warden sees. For example, each message that is sent through a unix datagram
// socket may name another target, and the name is in memory. If no warden checks where unix sockets connect,
// all unix sockets are forbidden: Docker may listen on one, and a process that reaches Docker can become
// root on the machine.
func socketRules(o filterOptions) []rule {
	isOpen := o.isOpen
	denied, unknown := refuse(uint32(unix.EACCES)), refuse(uint32(unix.EAFNOSUPPORT))
	var arms []arm
	if o.hasUnix {
		arms = append(arms, when(allow, is(0, unix.AF_UNIX), isKind(unix.SOCK_STREAM)), when(allow, is(0, unix.AF_UNIX), isKind(unix.SOCK_SEQPACKET)))
	}
	arms = append(arms, when(denied, is(0, unix.AF_UNIX)))
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		if isOpen {
			arms = append(arms,
				when(allow, is(0, family), isKind(unix.SOCK_STREAM)), when(allow, is(0, family), isKind(unix.SOCK_DGRAM)))
		} else {
			stream := isKind(unix.SOCK_STREAM)
			arms = append(arms,
				when(allow, is(0, family), stream, is(2, unix.IPPROTO_IP)), when(allow, is(0, family), stream, is(2, unix.IPPROTO_TCP)))
		}
		arms = append(arms, when(denied, is(0, family)))
	}
	if isOpen {
		arms = append(arms, when(allow, is(0, unix.AF_NETLINK)))
	} else {
		arms = append(arms, when(allow, is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)), when(denied, is(0, unix.AF_NETLINK)))
	}
	rules := []rule{
		on(unix.SYS_SOCKET, append(arms, when(unknown))...),
		on(unix.SYS_SOCKETPAIR,
			when(allow, isKind(unix.SOCK_STREAM)), when(allow, isKind(unix.SOCK_SEQPACKET)), when(denied)),
	}
	// With MSG_FASTOPEN, sending a message connects the socket without a connect call, so the warden would not
	// see it.
	noFast := refuse(uint32(unix.EOPNOTSUPP))
	rules = append(rules,
		on(unix.SYS_SENDTO, when(noFast, hasAny(3, unix.MSG_FASTOPEN))),
		on(unix.SYS_SENDMSG, when(noFast, hasAny(2, unix.MSG_FASTOPEN))),
		on(unix.SYS_SENDMMSG, when(noFast, hasAny(3, unix.MSG_FASTOPEN))))
	if !isOpen {
		return append(rules, routing())
	}
	if o.hasWarden {
		rules = append(rules, on(unix.SYS_SETSOCKOPT,
			when(decide, is(1, unix.SOL_SOCKET), is(2, unix.SO_REUSEADDR)), when(decide, is(1, unix.SOL_SOCKET), is(2, unix.SO_REUSEPORT))))
	}
	return rules
}

// routing returns a rule that forbids two kinds of socket options. One sends packets to another host than the
// socket's peer (source routing). The other sends them through a network device that the caller chooses.
func routing() rule {
	denied := refuse(uint32(unix.EPERM))
	var arms []arm
	for _, o := range []struct {
		level   uint32
		options []uint32
	}{
		{unix.SOL_SOCKET, []uint32{unix.SO_BINDTODEVICE, unix.SO_BINDTOIFINDEX, unix.SO_MARK}},
		{unix.SOL_IP, []uint32{unix.IP_OPTIONS}},
		{unix.SOL_IPV6, []uint32{
			unix.IPV6_RTHDR, unix.IPV6_RTHDRDSTOPTS, unix.IPV6_HOPOPTS, unix.IPV6_DSTOPTS,
			unix.IPV6_2292RTHDR, unix.IPV6_2292PKTOPTIONS, unix.IPV6_2292HOPOPTS, unix.IPV6_2292DSTOPTS,
		}},
	} {
		for _, option := range o.options {
			arms = append(arms, when(denied, is(1, o.level), is(2, option)))
		}
	}
	return on(unix.SYS_SETSOCKOPT, arms...)
}

// ioprioProcess is the kernel's constant IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// processRules returns the rules for connect and listen, and for calls that affect other processes.
func processRules(o filterOptions) []rule {
	denied := refuse(uint32(unix.EPERM))
	foreign, connect := denied, allow
	if o.hasWarden {
		foreign, connect = decide, decide
	}
	rules := []rule{
		on(unix.SYS_CONNECT, when(connect)),
		on(unix.SYS_LISTEN, when(connect)),
		on(unix.SYS_PRLIMIT64, // that limit is the cage's mark
			when(denied, is(1, unix.RLIMIT_RTTIME), isSet(2)), when(denied, is(1, unix.RLIMIT_RTTIME), isUpperSet(2)), when(foreign, isSet(0))),
		// A process group may contain processes outside of the cage, such as the shell that ran "raymond cage".
		on(unix.SYS_SETPRIORITY, when(allow, is(0, unix.PRIO_PROCESS), is(1, 0)), when(foreign, is(0, unix.PRIO_PROCESS)), when(denied)),
		on(unix.SYS_IOPRIO_SET, when(allow, is(0, ioprioProcess), is(1, 0)), when(denied)),
		// TIOCSTI inserts text into a terminal's input, where the user's shell would execute it.
		on(unix.SYS_IOCTL, when(denied, is(1, unix.TIOCSTI))),
	}
	for _, call := range []uintptr{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR} {
		rules = append(rules, on(call, when(foreign, isSet(0))))
	}
	if !o.isTraced {
		rules = append(rules, refuseAll(uint32(unix.EPERM),
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP)...)
	}
	if !o.isScoped {
		rules = append(rules, signalRules(o.protected)...)
	}
	return rules
}

// signalRules returns rules that are used if Landlock can't restrict signals. They forbid signals to the
// processes with the given ids, signals to all processes, and calls that signal through a descriptor.
func signalRules(spared []int) []rule {
	denied := refuse(uint32(unix.EPERM))
	var arms, handles []arm
	for _, pid := range spared {
		own := uint32(pid) //nolint:gosec // process ids are positive
		arms = append(arms, when(denied, is(0, own)), when(denied, is(0, -own)))
		handles = append(handles, when(denied, is(0, own)))
	}
	everybody := when(denied, is(0, ^uint32(0)))
	// An open directory of a process in /proc can also be used to send it a signal, so pidfd_send_signal is
	// not supported at all.
	rules := refuseAll(uint32(unix.ENOSYS), unix.SYS_PIDFD_SEND_SIGNAL)
	rules = append(rules, on(unix.SYS_KILL, append(slices.Clone(arms), everybody)...), on(unix.SYS_PIDFD_OPEN, handles...))
	for _, call := range []uintptr{unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO} {
		rules = append(rules, on(call, arms...))
	}
	return rules
}
