package proc

import (
	"context"
	"os"
	"syscall"
)

// kin is a started child.
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

func (s Options) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CmdLine: s.CommandLine, HideWindow: true}
}

// exited says whether the child is known to have exited.
func (k *kin) exited() bool { return false }

// await returns when the child has exited.
func (k *kin) await() { k.state, _ = k.p.Wait() }

// signal kills the child: Windows has no signal that asks another process group
// to end.
func (k *kin) signal(syscall.Signal, bool) { _ = k.p.Kill() }

func (k *kin) finish(bool) ending {
	if k.state == nil {
		return ending{code: -1}
	}
	return ending{code: k.state.ExitCode(), cpu: k.state.UserTime() + k.state.SystemTime()}
}

func reapStrays() {}

// Adopt does nothing: only Linux lets a process inherit the orphans of its
// children.
func Adopt() error { return nil }

// Undumpable does nothing: only Linux has such a setting.
func Undumpable() error { return nil }

// Sweep does nothing: only Linux shows the environment of other processes.
func Sweep(context.Context, string, string) (int, error) { return 0, nil }

// SignalNumber is always 0: there are no signals.
func (e Exit) SignalNumber() int { return 0 }

// tellsReader says that the system doesn't tell whether an output has a reader: a
// failed write does.
const tellsReader = false

func hasReader(*os.File) bool { return true }
