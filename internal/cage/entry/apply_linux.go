package entry

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe" //nolint:depguard // seccomp(2) takes a pointer

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Apply puts the calling thread and all processes that it starts later into the cage, permanently. The
// thread must be locked to its goroutine. The mark is set for the whole process. Apply returns the
// descriptor of the seccomp listener, which receives the system calls that the filter leaves to the warden.
// The descriptor is -1 if there is no filter or if an outer cage already has a listener.
//
// The order of the steps matters. A thread without CAP_SYS_ADMIN may use Landlock and seccomp only after it
// has set no_new_privs. The filter must come last, because it forbids changes of the mark.
func (p *Plan) Apply() (listener int, err error) {
	if !p.IsTrusted {
		if err := setNoNewPrivs(); err != nil {
			return -1, err
		}
	}
	if p.Mark != 0 {
		limit := unix.Rlimit{Cur: p.Mark, Max: p.Mark}
		if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &limit, nil); err != nil {
			return -1, os.NewSyscallError("prlimit RLIMIT_RTTIME", err)
		}
	}
	if !p.IsTrusted {
		if err := dropCapabilities(); err != nil {
			return -1, err
		}
	}
	if err := p.landlock(); err != nil {
		return -1, err
	}
	return p.seccomp()
}

// landlock denies the thread the rights in FS, Net and Scoped, except where Rules and Ports grant them.
func (p *Plan) landlock() error {
	if p.FS == 0 && p.Net == 0 && p.Scoped == 0 {
		return nil
	}
	ruleset, err := landlock.LandlockCreateRuleset(&landlock.RulesetAttr{HandledAccessFS: p.FS, HandledAccessNet: p.Net, Scoped: p.Scoped}, 0)
	if err != nil {
		return os.NewSyscallError("landlock_create_ruleset", err)
	}
	defer unix.Close(ruleset)
	for _, r := range p.Rules {
		if err := r.add(ruleset, p.FS); err != nil {
			return err
		}
	}
	for _, port := range p.Ports {
		attr := landlock.NetPortAttr{AllowedAccess: p.Net & landlock.AccessNetConnectTCP, Port: uint64(port)}
		if attr.AllowedAccess == 0 {
			break
		}
		if err := landlock.LandlockAddNetPortRule(ruleset, &attr, 0); err != nil {
			return os.NewSyscallError("landlock_add_rule", err)
		}
	}
	err = landlock.LandlockRestrictSelf(ruleset, 0)
	// Without no_new_privs, a thread may restrict itself only if it has CAP_SYS_ADMIN.
	if errors.Is(err, unix.EPERM) && p.IsTrusted {
		if err = setNoNewPrivs(); err == nil {
			err = landlock.LandlockRestrictSelf(ruleset, 0)
		}
	}
	return os.NewSyscallError("landlock_restrict_self", err)
}

// setNoNewPrivs sets no_new_privs. After that, neither the thread nor its children can gain privileges, for
// example through a setuid program.
func setNoNewPrivs() error {
	return os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}

// fileRights are the rights that Landlock accepts in a rule for a file. All other rights apply only to
// directories.
const fileRights = landlock.AccessFSExecute | landlock.AccessFSWriteFile | landlock.AccessFSReadFile |
	landlock.AccessFSTruncate | landlock.AccessFSIoctlDev | landlock.AccessFSResolveUnix

// add adds the rule to a ruleset. handled are the rights that the ruleset handles.
func (r Rule) add(ruleset int, handled uint64) error {
	fd, err := unix.Open(string(r.Path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // a path that is missing or unreachable needs no rule
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "fstat", Path: string(r.Path), Err: err}
	}
	access := r.Access & handled
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return nil
	case unix.S_IFDIR:
	default:
		access &= fileRights
	}
	if access == 0 {
		return nil
	}
	err = landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
	// EBADFD means that Landlock can't have a rule for the file because it is outside of a file system
	// tree, like a pipe.
	if err != nil && !errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("landlock_add_rule %s: %w", r.Path, err)
	}
	return nil
}

// seccomp installs Filter on the thread and returns the descriptor of its listener. If the thread can't have
// a listener, seccomp installs Alone and returns -1.
func (p *Plan) seccomp() (listener int, err error) {
	if len(p.Filter) == 0 {
		return -1, nil
	}
	const listen = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	fd, err := setFilter(p.Filter, listen|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	// Before Linux 5.19, the kernel doesn't support WAIT_KILLABLE_RECV.
	if errors.Is(err, unix.EINVAL) {
		fd, err = setFilter(p.Filter, listen)
	}
	// EBUSY means that an outer cage has a listener already. EINVAL means that the kernel doesn't support
	// listeners.
	if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EINVAL) {
		_, err = setFilter(p.Alone, 0)
		fd = -1
	}
	if err != nil {
		return -1, os.NewSyscallError("seccomp", err)
	}
	return fd, nil
}

// setFilter installs a seccomp program. It returns the listener's descriptor if flags request one.
func setFilter(filter []byte, flags uintptr) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(filter) / unix.SizeofSockFilter), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(filter)))} //nolint:gosec // at most 4096 instructions
	fd, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
