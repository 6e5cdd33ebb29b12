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

// kernel is what the running kernel can do.
type kernel struct {
	landlock  int  // version of Landlock's interface, 0 for none
	filters   bool // seccomp
	isDecided bool // somebody outside can decide about a call, and connect in the caller's place
}

var running = sync.OnceValue(probe)

func probe() kernel {
	var k kernel
	if version, err := landlock.LandlockGetABIVersion(); err == nil {
		k.landlock = version
	}
	k.filters = knows(unix.SECCOMP_RET_ERRNO)
	k.isDecided = k.filters && knows(unix.SECCOMP_RET_USER_NOTIF) && canBorrow()
	return k
}

// knows reports whether seccomp has an action.
func knows(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// canBorrow reports whether this process can get hold of the sockets of those that
// it starts, and read what they ask for. Some containers don't let it.
func canBorrow() bool {
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
	// Yama can forbid it for all processes but the own one, of which nothing can be tried.
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err == nil && strings.TrimSpace(string(scope)) > "1" {
		return false
	}
	return true
}

// Rights of Landlock that came with each version of its interface.
var (
	rightsFS = []uint64{
		1: 1<<13 - 1, // from Execute to MakeSym
		2: landlock.AccessFSRefer, 3: landlock.AccessFSTruncate, 5: landlock.AccessFSIoctlDev, 9: landlock.AccessFSResolveUnix,
	}
	rightsNet = []uint64{4: landlock.AccessNetConnectTCP, 10: landlock.AccessNetConnectSendUDP}
	scopes    = []uint64{6: landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal}
)

// upTo returns the rights of a version and all before it.
func (k kernel) upTo(rights []uint64) uint64 {
	var all uint64
	for version, of := range rights {
		if version <= k.landlock {
			all |= of
		}
	}
	return all
}

// Versions of Landlock's interface, by what they brought.
const (
	withTruncate = 3
	withTCP      = 4
	withIoctl    = 5
	withScopes   = 6
)

// unhidden is how a container lets a process look at those that it starts.
const unhidden = "in a job with container, container: options: --cap-add SYS_PTRACE allows it"

func (k kernel) lacks(p Policy) []Gap {
	var out []Gap
	add := func(missing bool, l Gap) {
		if missing {
			out = append(out, l)
		}
	}
	held := k.landlock > 0
	add(!held, Gap{Text: "the kernel has no Landlock: files aren't held, and neither is the memory of other processes", IsMajor: true})
	add(!k.filters, Gap{Text: "the kernel has no seccomp: calls of the system aren't held", IsMajor: true})
	isBlind := k.filters && !k.isDecided
	add(isBlind && p.Network.IsOpen, Gap{Text: "link-local addresses, as the metadata of clouds has, can be reached", Hint: unhidden})
	add(isBlind && !p.Network.IsOpen, Gap{Text: "servers of agents can be reached from other machines", Hint: unhidden})
	add(isBlind, Gap{Text: "agents can make no unix socket, since raymond can't look at where it would lead (pidfd_getfd is refused here)", Hint: unhidden, IsWarning: true})
	add(!p.Network.IsOpen && !k.isDecided && k.landlock < withTCP, Gap{Text: "the network isn't held", Hint: unhidden, IsMajor: true, IsWarning: true})
	add(!p.Network.IsOpen && isBlind && k.landlock >= withTCP, Gap{Text: "any host can be reached at the ports of the proxies, since nobody sees where agents connect to", Hint: unhidden, IsMajor: true, IsWarning: true})
	add(held && k.landlock < withTruncate, Gap{Text: "files that can't be written can be emptied"})
	add(held && k.landlock < withIoctl, Gap{Text: "devices that can be opened can be given any command"})
	add(held && k.landlock < withScopes, Gap{Text: "signals are kept from the program itself and those above it, not from other processes of the user"})
	return out
}
