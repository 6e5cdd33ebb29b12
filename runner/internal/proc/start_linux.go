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

// kin is a child that has not been collected yet.
type kin struct {
	pid   int
	mark  string // "VAR=value", or ""
	caged uint64 // mark of its cage; 0 without one
	leave func() // ends what its cage needed; nil without one
	ended bool   // it has exited; what it left is being ended. Guarded by family.mu
}

// family is the set of children under way. What else the kernel lists as a child
// of this process is a stray: an orphan that one of them left, or a process that
// other code of this program started.
var family = struct {
	// mu guards kin and the fields of its values. It is held while a child is
	// forked, collected, or listed, so that no listing meets a child of ours that
	// is not in the map, or an id that was used again.
	mu  sync.Mutex
	kin map[int]*kin
}{kin: map[int]*kin{}}

// AdoptOrphans makes this process inherit the orphans that its children leave, however
// far they moved away. Run calls it before the first child.
func AdoptOrphans() error { return adopted() }

var adopted = sync.OnceValue(func() error {
	// Threads are made while there can be some. Where agents have filled the process table and it has none
	// left, the runtime of Go ends this process with a dump; with some, the next start fails, which is told
	// as any other failure.
	var made, all sync.WaitGroup
	made.Add(spare)
	for range spare {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread() // it goes on as any other
			made.Done()
			made.Wait()
		})
	}
	all.Wait()
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
})

// spare is how many threads there are to be, which wait for work: each child takes one that is in poll.
const spare = 16

func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: s.DeathSignal}
}

// confine says how a child that goes into a cage is started: in a session of its own,
// so that it can't join the group of any other.
func confine(a *syscall.SysProcAttr) { a.Setpgid, a.Setsid = false, true }

// starter is a thread that starts children and lives as long as this process: the
// death signal of a child is sent when the thread that forked it ends, and the
// threads of goroutines come and go. It calls what it is sent with why it can start nothing, if so.
type starter func() chan<- func(unfit error)

var (
	plainStarter = newStarter(func() error { return nil })
	// boundStarter has a bit that its children inherit and that can't be taken
	// back. Threads that the runtime starts do not get it: it never makes one from
	// a thread that is locked.
	boundStarter = newStarter(func() error {
		return os.NewSyscallError("prctl PR_SET_NO_NEW_PRIVS", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	})
)

// newStarter returns a starter whose thread begins with prepare.
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

func fork(s start) (k *kin, err error) {
	// Without adoption the search for the mark still finds nearly everything.
	_ = AdoptOrphans()
	by := plainStarter
	if s.options.NoNewPrivs {
		by = boundStarter
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

// fork starts the process and enters it into the family, in one step for others.
func (s start) fork() (*kin, error) {
	family.mu.Lock()
	defer family.mu.Unlock()
	attributes := &syscall.ProcAttr{Dir: s.options.Dir, Env: s.options.environment(), Sys: s.sys}
	for _, f := range s.files {
		attributes.Files = append(attributes.Files, f.Fd())
	}
	pid, _, err := syscall.StartProcess(s.path, s.argv, attributes)
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: s.path, Err: err}
	}
	k := &kin{pid: pid, mark: s.options.markEntry(), caged: s.caged}
	family.kin[pid] = k
	return k, nil
}

// await returns when the child has exited. It is not collected yet: until then
// its id and its group are its own and can be signalled.
func (k *kin) await() {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err == nil && !isExit(info):
			_ = unix.Waitid(unix.P_PID, k.pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // it is told once
		default:
			return
		}
	}
}

// isExit reports whether what the kernel tells of a child is its end. Of one that has itself traced by this
// process it tells stops too, whatever it was asked for: that one lives, and SIGKILL ends it.
func isExit(info unix.Siginfo) bool {
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_KILLED, CLD_DUMPED
	return info.Code >= exited && info.Code <= dumped
}

// exited says whether the child has exited, without waiting for it.
func (k *kin) exited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, k.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 && isExit(info)
}

// signal signals the child or its group. It has not been collected yet, so neither its id
// nor that of its group can belong to another. What is gone already needs no signal: errors
// mean nothing here.
func (k *kin) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL {
		_ = syscall.Kill(-k.pid, sig)
		return
	}
	_ = syscall.Kill(k.pid, sig)
}

// finish ends what the child left and collects it. After a forced end it looks
// everywhere; else only if the child has left an orphan.
func (k *kin) finish(forced bool) Exit {
	if k.leave != nil {
		defer k.leave()
	}
	family.mu.Lock()
	k.ended = true
	family.mu.Unlock()
	all := forced || AdoptOrphans() != nil
	swept, left := processes.End(func(each func(processes.Process)) { k.leftovers(all, each) })
	family.mu.Lock()
	defer family.mu.Unlock()
	e := k.collect()
	e.Swept, e.Survivors = swept, len(left)
	return e
}

// collect takes the child, which has exited, from the kernel and the family.
// The caller holds family.mu.
func (k *kin) collect() Exit {
	defer delete(family.kin, k.pid)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(k.pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && status.Stopped() {
			continue
		}
		if err != nil {
			return Exit{Code: -1} // somebody else has collected it
		}
		return Exit{Code: status.ExitStatus(), Signal: signalName(status)}
	}
}
