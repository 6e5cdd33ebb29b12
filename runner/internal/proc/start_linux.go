package proc

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
	"github.com/raymond-action/raymond-action/runner/internal/proc/supervisor"
)

// kin is a child with the supervisor that stands between it and this process. What
// the supervisor says is used, but not relied on: the child may be able to stop or
// kill it. What it then leaves becomes a child of this process.
type kin struct {
	supervisor *os.Process
	messages   *messages
	mark       string        // "VAR=value", or ""
	gone       chan struct{} // closed when the child has exited, or its supervisor has
	killing    sync.Once
	state      exited
}

// family is the set of supervisors under way. What else the kernel lists as a child
// of this process is a stray: an orphan of a supervisor that has died, or a process
// that other code of this program started.
var family = struct {
	// mu is held while a supervisor is forked, collected, or listed, so that no
	// listing meets one that is not in the map, or an id that was used again.
	mu  sync.Mutex
	kin map[int]*kin
}{kin: map[int]*kin{}}

// Adopt makes this process inherit the orphans that its children leave, however
// far they moved away. Run calls it before the first child.
func Adopt() error { return adopted() }

var adopted = sync.OnceValue(func() error {
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

// attributes are those of a supervisor. In a session of its own neither it nor what
// it starts can join the process group of this process.
func (s Options) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// self is this program, also when its file is another by now.
const self = "/proc/self/exe"

// fork starts a supervisor, which starts the child.
func fork(s start) (*kin, error) {
	if err := Adopt(); err != nil {
		return nil, err
	}
	ours, theirs, err := controlSocket()
	if err != nil {
		return nil, err
	}
	s.attr.Files = append(s.attr.Files[:len(s.attr.Files):len(s.attr.Files)], theirs)
	k := &kin{messages: &messages{ours}, mark: s.mark, gone: make(chan struct{})}
	err = k.launch(s)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	if err := k.messages.started(s.path); err != nil {
		k.dismiss()
		return nil, err
	}
	return k, nil
}

// launch starts the supervisor and enters it into the family, in one step for others.
func (k *kin) launch(s start) error {
	order := supervisor.Order{Path: s.path, Argv: s.argv, DeathSignal: int(s.deathSignal), NoNewPrivs: s.bound}
	family.mu.Lock()
	defer family.mu.Unlock()
	p, err := os.StartProcess(self, append([]string{os.Args[0]}, order.Args()...), s.attr)
	if err != nil {
		var where *os.PathError
		if errors.As(err, &where) && where.Path == self {
			where.Path = s.path // such as an argument that is too long
		}
		return err
	}
	k.supervisor = p
	family.kin[p.Pid] = k
	return nil
}

// controlSocket returns our end and the supervisor's.
func controlSocket() (ours, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil { // so that reading can have a deadline
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(ends[0]), "control"), os.NewFile(uintptr(ends[1]), "control"), nil
}

// await returns when the child has exited. Its supervisor is not collected yet.
func (k *kin) await() {
	k.state = k.messages.exited()
	close(k.gone)
}

// exited says whether the child has exited, without waiting for it.
func (k *kin) exited() bool {
	select {
	case <-k.gone:
		return true
	default:
		return false
	}
}

// overdue is how much longer than it should a supervisor may take, before it is
// taken to be stopped or hindered by the child.
const overdue = 3 * time.Second

// signal signals the child, or its group. One that is killed must be gone soon, or
// its supervisor is killed too.
func (k *kin) signal(sig syscall.Signal, group bool) {
	k.messages.order(sig, group || sig == syscall.SIGKILL)
	if sig == syscall.SIGKILL {
		k.killing.Do(func() { go k.killLate() })
	}
}

func (k *kin) killLate() {
	late := time.NewTimer(overdue)
	defer late.Stop()
	select {
	case <-k.gone:
	case <-late.C:
		_ = k.supervisor.Kill()
	}
}

// finish waits until the supervisor has ended what the child left, and ends what has
// got past it. After a forced end it also looks for the mark.
func (k *kin) finish(forced bool) ending {
	e := k.state.ending()
	done := false
	e.swept, e.left, done = k.messages.ended(time.Now().Add(sweepMax + overdue))
	k.dismiss()
	swept, left := endStrays(!done)
	e.swept, e.left = e.swept+swept, max(e.left, left)
	if forced {
		swept, left := endAll(k.marked, never)
		e.swept, e.left = e.swept+swept, max(e.left, left)
	}
	return e
}

// dismiss ends the supervisor, which should be ending by itself, and collects it.
func (k *kin) dismiss() {
	_ = k.supervisor.Kill()
	family.mu.Lock()
	_, _ = k.supervisor.Wait()
	delete(family.kin, k.supervisor.Pid)
	family.mu.Unlock()
	k.messages.Close()
}

// EndAll ends whatever descends from this process, and collects it. It returns what
// could not be ended, each as its id and, in brackets, its command line. If that is
// nothing, then by the kernel's own account nothing descends from this process. It is
// called when Run is not under way, and no other code waits for a child. Only Linux
// has this; elsewhere it does nothing.
func EndAll() []string {
	if _, left := supervisor.End(never); left == 0 {
		return nil
	}
	alive := []string{}
	for _, p := range procfs.Below(os.Getpid()) {
		alive = append(alive, fmt.Sprintf("%d (%s)", p.PID, procfs.CommandLine(p.PID)))
	}
	return alive
}

// errNoSupervisor is of a supervisor that died before it could start the child.
func errNoSupervisor(path string) error {
	return fmt.Errorf("start %s: its supervisor did not start it", path)
}
