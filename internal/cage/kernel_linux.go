//go:build linux && (amd64 || arm64)

package cage

import (
	"os"
	"strings"
	"sync"
	"unsafe" //nolint:depguard // seccomp(2) takes a pointer

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// kernel describes which features of the running kernel a cage can use.
type kernel struct {
	landlock int  // version of Landlock's ABI; 0 without Landlock
	filters  bool // seccomp filters are supported
	// hasWarden is true if a warden can decide about system calls and connect the callers' sockets.
	hasWarden bool
}

// currentKernel returns the features of the running kernel. It probes them only once.
var currentKernel = sync.OnceValue(func() kernel {
	var k kernel
	if version, err := landlock.LandlockGetABIVersion(); err == nil {
		k.landlock = version
	}
	k.filters = hasAction(unix.SECCOMP_RET_ERRNO)
	k.hasWarden = k.filters && hasAction(unix.SECCOMP_RET_USER_NOTIF) && canDuplicateDescriptors()
	return k
})

// hasAction reports whether the kernel's seccomp supports an action.
func hasAction(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// canDuplicateDescriptors reports whether this process may duplicate sockets of its child processes and
// read their memory. Some containers forbid that.
func canDuplicateDescriptors() bool {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return false
	}
	defer unix.Close(self)
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(null)
	copied, err := unix.PidfdGetfd(self, null, 0)
	if err != nil {
		return false
	}
	unix.Close(copied)
	// If its ptrace_scope is above 1, Yama forbids duplicating and reading even for child processes. The
	// attempt above doesn't show that, because a process may always access itself.
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return err != nil || strings.TrimSpace(string(scope)) <= "1"
}

// The rights that each version of Landlock's ABI added, by version.
var (
	rightsFS = []uint64{
		1: 1<<13 - 1, // all rights from Execute to MakeSym
		2: landlock.AccessFSRefer, 3: landlock.AccessFSTruncate, 5: landlock.AccessFSIoctlDev, 9: landlock.AccessFSResolveUnix,
	}
	rightsNet = []uint64{4: landlock.AccessNetConnectTCP, 10: landlock.AccessNetConnectSendUDP}
	scopes    = []uint64{6: landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal}
)

// upTo returns the rights that the running kernel supports. rights lists the rights by the version of
// Landlock's ABI that added them.
func (k kernel) upTo(rights []uint64) uint64 {
	var all uint64
	for version, of := range rights {
		if version <= k.landlock {
			all |= of
		}
	}
	return all
}

// Versions of Landlock's ABI, named after the rights that they added.
const (
	withTruncate = 3
	withTCP      = 4
	withIoctl    = 5
	withScopes   = 6
)

// ptraceHint explains how to allow a container to read the memory of child processes.
const ptraceHint = "in a container job, set container: options: --cap-add SYS_PTRACE"

// gaps returns the parts of a policy that this kernel can't enforce.
func (k kernel) gaps(p Policy) []Gap {
	var out []Gap
	add := func(missing bool, l Gap) {
		if missing {
			out = append(out, l)
		}
	}
	held := k.landlock > 0
	add(!held, Gap{Text: "the kernel has no Landlock, so files and the memory of other processes are not protected", IsMajor: true})
	add(!k.filters, Gap{Text: "the kernel has no seccomp, so system calls are not filtered", IsMajor: true})
	isBlind := k.filters && !k.hasWarden
	add(isBlind && p.Network.IsOpen, Gap{Text: "agents can reach link-local addresses, such as the metadata service of a cloud", Hint: ptraceHint})
	add(isBlind && !p.Network.IsOpen, Gap{Text: "servers that agents start can be reached from other machines", Hint: ptraceHint})
	add(isBlind, Gap{Text: "agents can't create unix sockets, because raymond can't check where they connect (pidfd_getfd is refused here)", Hint: ptraceHint, IsWarning: true})
	add(!p.Network.IsOpen && !k.hasWarden && k.landlock < withTCP, Gap{Text: "the network can't be confined", Hint: ptraceHint, IsMajor: true, IsWarning: true})
	add(!p.Network.IsOpen && isBlind && k.landlock >= withTCP, Gap{Text: "agents can reach any host at the ports of the proxies, because raymond can't check where they connect", Hint: ptraceHint, IsMajor: true, IsWarning: true})
	add(held && k.landlock < withTruncate, Gap{Text: "files that agents can't write can still be truncated"})
	add(held && k.landlock < withIoctl, Gap{Text: "agents can use every ioctl of the devices that they can open"})
	add(held && k.landlock < withScopes, Gap{Text: "agents can send signals to other processes of the user, except to raymond and its ancestors"})
	return out
}
