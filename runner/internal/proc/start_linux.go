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
	mark  string // the mark as "VAR=value"; "" without a mark
	caged uint64 // the cage's mark; 0 without a cage
	leave func() // closes the entrance to the cage; nil without a cage
	// ended is true if the child has exited and the processes that it left behind are being ended.
	// children.mu guards it.
	ended bool
}

// children contains the children that Run has started, by process id. All other children of this process
// are strays: orphans that a child left behind, or processes that other code in this program started.
var children = struct {
	// mu guards byID and the fields of its values. It is held while a child is forked, collected or listed.
	// Therefore a list contains no child of Run that is missing in byID, and no process id that was reused.
	mu   sync.Mutex
	byID map[int]*process
}{byID: map[int]*process{}}

// AdoptOrphans makes this process the parent of all orphans among its descendants, even if they have
// changed their session or process group. Run calls it before it starts the first child.
func AdoptOrphans() error { return adoptOnce() }

var adoptOnce = sync.OnceValue(func() error {
	// Create spare threads now. If agents fill the process table later and Go's runtime needs a new thread,
	// the runtime would end this process with a dump. With spare threads, only the next start of a process
	// fails, with a normal error.
	var created, all sync.WaitGroup
	created.Add(spareThreads)
	for range spareThreads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread() // the thread is kept, and other goroutines use it
			created.Done()
			created.Wait()
		})
	}
	all.Wait()
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

// spareThreads is the number of threads to create. Each running child needs one thread, which waits for
// its exit.
const spareThreads = 16

// attributes returns the attributes of a child that is not caged: it gets its own process group.
func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: s.DeathSignal}
}

// startSession changes the attributes of a caged child: it gets its own session, so that it can't join
// the process group of another process.
func startSession(a *syscall.SysProcAttr) { a.Setpgid, a.Setsid = false, true }

// starter returns the channel of a thread that starts children and lives as long as this process. Such a
// thread is needed because a child gets its death signal when the thread that forked it ends, and
// goroutines change threads. The thread calls each function that is sent to the channel. unfit is the
// reason why the thread can't start processes, or nil.
type starter func() chan<- func(unfit error)

var (
	plainStarter = newStarter(func() error { return nil })
	// noPrivsStarter's thread sets no_new_privs, which its children inherit and which can't be removed. No
	// other thread of this process inherits it, because Go's runtime never creates a thread from a locked
	// one.
	noPrivsStarter = newStarter(func() error {
		return os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	})
)

// newStarter returns a starter whose thread calls prepare before it starts the first child.
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

// fork starts the process on a thread that lives as long as this process.
func fork(s launch) (k *process, err error) {
	// If this fails, the search for the mark still finds nearly all processes that the child leaves behind.
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

// fork starts the process and adds it to children while children is locked, so that no other goroutine
// takes it for a stray.
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

// await waits until the child has exited. It doesn't collect the exit status. Until that happens, the
// ids of the process and of its group can't be reused, so they can be signalled safely.
func (k *process) await() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && !isExit(info):
			_ = unix.Waitid(unix.P_PID, k.pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // consumes the report of the stop, which occurs only once
		default:
			return
		}
	}
}

// isExit reports whether info describes the end of a child. If a child lets this process trace it, the
// kernel also reports its stops, even if only exits were requested. Such a child is still alive, and
// SIGKILL can end it.
func isExit(info unix.Siginfo) bool {
	const exited, dumped = 1, 3 // CLD_EXITED and CLD_DUMPED; CLD_KILLED is 2
	return info.Code >= exited && info.Code <= dumped
}

// exited reports whether the child has exited. It doesn't wait.
func (k *process) exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 && isExit(info)
}

// signal sends a signal to the child or to its group. The child has not been collected yet, so neither
// id can belong to another process. Errors are ignored, because a process that has ended needs no
// signal.
func (k *process) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL {
		_ = syscall.Kill(-k.pid, sig)
		return
	}
	_ = syscall.Kill(k.pid, sig)
}

// finish ends the processes that the child left behind, collects the child and returns its Exit. It searches
// the child's cage and the orphans for these processes. It also searches all processes of the machine if
// forced is true, which means that Run ended the child, or if this process can't adopt orphans.
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

// collect removes the exited child from the kernel's process table and from children, and returns its
// exit status. The caller must hold children.mu.
func (k *process) collect() Exit {
	defer delete(children.byID, k.pid)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(k.pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && status.Stopped() {
			continue
		}
		if err != nil {
			return Exit{Code: -1} // other code has collected the child
		}
		return Exit{Code: status.ExitStatus(), Signal: signalName(status)}
	}
}
