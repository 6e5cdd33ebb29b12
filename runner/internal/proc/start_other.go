//go:build !linux

package proc

import (
	"os"
	"syscall"
)

// kin is a started child, and the group that it and what it starts are in.
type kin struct {
	p     *os.Process
	group group
	leave func() // never set: there are no cages
	state *os.ProcessState
}

// confine is for cages, which there are none of.
func confine(*syscall.SysProcAttr) {}

func fork(s start) (*kin, error) {
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
	return &kin{p: p, group: g}, nil
}

// exited says whether the child is known to have exited.
func (k *kin) exited() bool { return false }

// await returns when the child has exited.
func (k *kin) await() { k.state, _ = k.p.Wait() }

// signal signals the child or its group. What is gone already needs no signal: errors
// mean nothing here.
func (k *kin) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL || !asks {
		_ = k.group.signal(sig)
		return
	}
	_ = k.p.Signal(sig)
}

// finish ends what is left of the group.
func (k *kin) finish(bool) Exit {
	e := Exit{Code: -1, Swept: k.group.end()}
	if k.state != nil {
		e.Code, e.Signal = k.state.ExitCode(), signalOf(k.state)
	}
	return e
}

func reapStrays() {}

// AdoptOrphans does nothing: only Linux lets a process inherit the orphans of its
// children.
func AdoptOrphans() error { return nil }

// MakeUndumpable does nothing: only Linux has such a setting.
func MakeUndumpable() error { return nil }

// Sweep does nothing: only Linux shows the environment of other processes.
func Sweep(string) (int, error) { return 0, nil }
