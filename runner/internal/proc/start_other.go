//go:build !linux

package proc

import (
	"os"
	"syscall"
)

// process is a started child, with the group that contains the child and its descendants.
type process struct {
	p     *os.Process
	group group
	leave func() // always nil, because this system has no cages
	state *os.ProcessState
}

// startSession does nothing, because this system has no cages.
func startSession(*syscall.SysProcAttr) {}

// fork starts the process and puts it into a group.
func fork(s launch) (*process, error) {
	p, err := os.StartProcess(s.path, s.argv, &os.ProcAttr{Dir: s.options.Dir, Env: s.options.environment(), Files: s.files, Sys: s.sys})
	if err != nil {
		return nil, err
	}
	g, err := groupOf(p)
	if err != nil {
		_ = p.Kill()
		_, _ = p.Wait()
		return nil, &os.PathError{Op: "start", Path: s.path, Err: err}
	}
	return &process{p: p, group: g}, nil
}

// exited reports whether the child is known to have exited. On this system, that is never known before
// await returns.
func (k *process) exited() bool { return false }

// await returns when the child has exited.
func (k *process) await() { k.state, _ = k.p.Wait() }

// signal sends a signal to the child or to its group. Errors are ignored, because a process that has
// ended needs no signal.
func (k *process) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL || !hasTermSignals {
		_ = k.group.signal(sig)
		return
	}
	_ = k.p.Signal(sig)
}

// finish ends the remaining processes in the group and returns the child's Exit. Its parameter, forced, is
// used only on Linux.
func (k *process) finish(bool) Exit {
	e := Exit{Code: -1, Swept: k.group.end()}
	if k.state != nil {
		e.Code, e.Signal = k.state.ExitCode(), signalOf(k.state)
	}
	return e
}

// reapStrays does nothing, because only Linux makes this process the parent of orphans.
func reapStrays() {}

// AdoptOrphans does nothing, because only Linux can make a process the parent of its orphaned descendants.
func AdoptOrphans() error { return nil }

// MakeUndumpable does nothing, because only Linux supports it.
func MakeUndumpable() error { return nil }

// Sweep does nothing, because it needs the environments of other processes, which only Linux shows.
func Sweep(string) (int, error) { return 0, nil }
