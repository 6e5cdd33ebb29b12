package proc

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/processes"
)

// process is a child whose exit status has not been collected yet.
type process struct {
	pid   int
	mark  string // "VAR=value", or ""
	caged uint64 // mark of its cage; 0 without a cage
	leave func() // closes its entrance to the cage; nil without a cage
	ended bool   // it has exited, and the processes that it left behind are being ended; guarded by children.mu
}

// children is the set of children that Run has started. Any other child of this process is a stray: an
// orphan that a child left behind, or a process that other code of this program started.
var children = struct {
	// mu guards byID and the fields of its values. It is held while a child is forked, collected or
	// listed, so that a listing contains no child that is missing in the map, and no process id that
	// was reused.
	mu   sync.Mutex
	byID map[int]*process
}{byID: map[int]*process{}}

// AdoptOrphans makes this process the parent of all orphans among its descendants, whatever sessions or
// groups they have moved to. Run calls it before it starts the first child.
func AdoptOrphans() error { return adoptOnce() }

var adoptOnce = sync.OnceValue(func() error {
	// Create threads now, while that is possible. If agents fill the process table and Go's runtime
	// needs a thread, the runtime ends this process with a dump. With spare threads, only the next
	// start of a process fails, with an ordinary error.
	var created, all sync.WaitGroup
	created.Add(spareThreads)
	for range spareThreads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread() // the thread stays and is used for other goroutines
			created.Done()
			created.Wait()
		})
	}
	all.Wait()
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

// spareThreads is the number of threads to create. Each child needs one thread, which waits in poll.
const spareThreads = 16

func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: s.DeathSignal}
}

// startSession gives a caged child its own session, so that it can't join the process group of another
// process.
func startSession(a *syscall.SysProcAttr) { a.Setpgid, a.Setsid = false, true }

// starter is a thread that starts children and lives as long as this process. Children get their death
// signal when the thread that forked them ends, and the threads of goroutines come and go. The thread
// calls each function that is sent to it; unfit is the reason why it can't start processes, or nil.
type starter func() chan<- func(unfit error)

var (
	plainStarter = newStarter(func() error { return nil })
	// noPrivsStarter has no_new_privs, which its children inherit and which can't be removed. No other
	// thread gets it: Go's runtime never creates a thread from a locked one.
	noPrivsStarter = newStarter(func() error {
		return os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	})
)

// newStarter returns a starter whose thread calls prepare first.
func newStarter(prepare func() error) starter {
	return sync.OnceValue(func() chan<- func(error) {
		work := make(chan func(error))
		go func() {
			runtime.LockOSThread()
			unfit := prepare()
			for do := range work {
				do(unfit)
			}
		}()
		return work
	})
}

func fork(s launch) (k *process, err error) {
	// If this fails, the search for the mark still finds nearly all processes that are left behind.
	_ = AdoptOrphans()
	by := plainStarter
	if s.options.NoNewPrivs {
		by = noPrivsStarter
	}
	done := make(chan struct{})
	by() <- func(unfit error) {
		defer close(done)
		if err = unfit; err == nil {
			k, err = s.fork()
		}
	}
	<-done
	return k, err
}

// fork starts the process and adds it to children in one step, so that no other goroutine sees it as a stray.
func (s launch) fork() (*process, error) {
	children.mu.Lock()
	defer children.mu.Unlock()
	attributes := &syscall.ProcAttr{Dir: s.options.Dir, Env: s.options.environment(), Sys: s.sys}
	for _, f := range s.files {
		attributes.Files = append(attributes.Files, f.Fd())
	}
	pid, _, err := syscall.StartProcess(s.path, s.argv, attributes)
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: s.path, Err: err}
	}
	k := &process{pid: pid, mark: s.options.markEntry(), caged: s.caged}
	children.byID[pid] = k
	return k, nil
}

// await returns when the child has exited. It doesn't collect the exit status: until that happens, the
// ids of the process and of its group can't be reused, so they can be signalled safely.
func (k *process) await() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && !isExit(info):
			_ = unix.Waitid(unix.P_PID, k.pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // consumes the stop, which is reported only once
		default:
			return
		}
	}
}

// isExit reports whether the kernel reports the end of a child. For a child that lets this process
// trace it, the kernel also reports stops, even if only exits were requested. The child is still alive,
// and SIGKILL ends it.
func isExit(info unix.Siginfo) bool {
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_KILLED, CLD_DUMPED
	return info.Code >= exited && info.Code <= dumped
}

// exited reports whether the child has exited, without waiting.
func (k *process) exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 && isExit(info)
}

// signal signals the child or its group. The child has not been collected yet, so neither id can belong
// to another process. Errors are ignored, because a process that has ended needs no signal.
func (k *process) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL {
		_ = syscall.Kill(-k.pid, sig)
		return
	}
	_ = syscall.Kill(k.pid, sig)
}

// finish ends the processes that the child left behind and collects the child. If the child was forced
// to end, finish searches all processes of the machine, otherwise only orphans.
func (k *process) finish(forced bool) Exit {
	if k.leave != nil {
		defer k.leave()
	}
	children.mu.Lock()
	k.ended = true
	children.mu.Unlock()
	all := forced || AdoptOrphans() != nil
	swept, left := processes.End(func(each func(processes.Process)) { k.leftovers(all, each) })
	children.mu.Lock()
	defer children.mu.Unlock()
	e := k.collect()
	e.Swept, e.Survivors = swept, len(left)
	return e
}

// collect removes the exited child from the kernel's process table and from children. The caller holds
// children.mu.
func (k *process) collect() Exit {
	defer delete(children.byID, k.pid)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(k.pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && status.Stopped() {
			continue
		}
		if err != nil {
			return Exit{Code: -1} // other code has collected it
		}
		return Exit{Code: status.ExitStatus(), Signal: signalName(status)}
	}
}
