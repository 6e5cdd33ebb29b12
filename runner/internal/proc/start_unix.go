//go:build unix && !linux

package proc

import (
	"context"
	"os"
	"syscall"
)

// kin is a started child and its process group.
type kin struct {
	p     *os.Process
	leave func() // never set: there are no cages
	state *os.ProcessState
}

// confine is for cages, which there are none of.
func confine(*syscall.SysProcAttr) {}

func fork(s start) (*kin, error) {
	p, err := os.StartProcess(s.path, s.argv, &os.ProcAttr{Dir: s.dir, Env: s.env, Files: s.files, Sys: s.sys})
	return &kin{p: p}, err
}

func (s Options) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// exited says whether the child is known to have exited.
func (k *kin) exited() bool { return false }

// await returns when the child has exited.
func (k *kin) await() { k.state, _ = k.p.Wait() }

// signal signals the child or its group. What is gone already needs no signal: errors
// mean nothing here.
func (k *kin) signal(sig syscall.Signal, group bool) {
	if group || sig == syscall.SIGKILL {
		_ = syscall.Kill(-k.p.Pid, sig)
		return
	}
	_ = k.p.Signal(sig)
}

// finish ends what is left of the group. A process that left it is not found.
func (k *kin) finish(bool) ending {
	e := ending{code: -1}
	if k.state != nil {
		e = ending{code: k.state.ExitCode(), cpu: k.state.UserTime() + k.state.SystemTime()}
		if status, ok := k.state.Sys().(syscall.WaitStatus); ok {
			e.signal = signalName(status)
		}
	}
	if syscall.Kill(-k.p.Pid, syscall.SIGKILL) == nil {
		e.swept = 1
	}
	return e
}

func reapStrays() {}

// Adopt does nothing: only Linux lets a process inherit the orphans of its
// children.
func Adopt() error { return nil }

// Undumpable does nothing: only Linux has such a setting.
func Undumpable() error { return nil }

// Sweep does nothing: only Linux shows the environment of other processes.
func Sweep(context.Context, string, string) (int, error) { return 0, nil }
