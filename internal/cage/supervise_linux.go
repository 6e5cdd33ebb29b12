//go:build linux && (amd64 || arm64)

package cage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage/warden"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Supervise runs one program in the cage, with this process's standard streams and working directory. It
// returns after the program has exited and all processes that it left behind have been ended. The exit
// code is the one that a shell would return. Supervise passes SIGTERM on to the program. It ignores
// SIGINT, because the terminal sends SIGINT to the program too. No thread of this process enters the
// cage, because a caged process could trace such a thread and change the memory that all threads share.
func (c *Cage) Supervise(run Command) (code int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", err)
	}
	in, err := c.Enter(run.Path, Mark(strconv.Itoa(os.Getpid())+"-"+strconv.FormatInt(time.Now().UnixNano(), 10)+".1"))
	if err != nil {
		return -1, err
	}
	defer in.Close()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	runtime.LockOSThread() // Pdeathsig kills the child when the thread that started it ends
	defer runtime.UnlockOSThread()
	// os.StartProcess would first start another process to find out what the kernel supports.
	pid, _, err := syscall.StartProcess(EntryProgram, in.Arguments(run.Args), &syscall.ProcAttr{
		Env: run.Env, Files: []uintptr{0, 1, 2, in.File().Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return -1, err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = syscall.Kill(pid, syscall.SIGTERM) // pid can't belong to another process until await collects the child
			}
		}
	}()
	err = in.Admit() // if the child can't enter the cage, it exits
	status, waitErr := await(pid)
	err = errors.Join(err, waitErr)
	signal.Stop(signals)
	if left := processes.EndDescendants(); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("end processes of the command: %s are still running", strings.Join(left, ", ")))
	}
	if status.Signaled() {
		return signalBase + int(status.Signal()), err
	}
	return status.ExitStatus(), err
}

// signalBase is what shells add to the number of the signal that ended a program, to get an exit code.
const signalBase = 128

// await waits until a child has exited and returns its status. It also collects orphans that exit before
// that.
func await(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		// If the child lets this process trace it, the kernel also reports when the child is stopped. The child
		// is still alive then.
		if !errors.Is(err, syscall.EINTR) && (err != nil || got == pid && !status.Stopped()) {
			return status, os.NewSyscallError("wait4", err)
		}
	}
}

// StartInside calls the function start on a thread that has entered the cage, so that all processes that start
// creates are confined. These processes carry no mark, so the caller must end them. start can open only
// files that the cage allows.
func (c *Cage) StartInside(start func() error) error {
	plan, err := c.plan(currentKernel(), "")
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends together with the goroutine
		// The first thread must not enter the cage. It would live as long as the program, and a caged process
		// could trace it. Blocking it here makes the next goroutine run on another thread.
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			done <- c.StartInside(start)
			return
		}
		listener, err := plan.Apply()
		if listener >= 0 {
			go warden.Serve(context.Background(), os.NewFile(uintptr(listener), "listener"), c.rules(0))
		}
		if err == nil {
			err = start()
		}
		done <- err
	}()
	return <-done
}

// rules returns the warden's rules for processes that carry the mark.
func (c *Cage) rules(mark uint64) warden.Rules {
	n := c.policy.Network
	return warden.Rules{Mark: mark, IsOpen: n.IsOpen, Ports: n.Ports, OnRefused: n.OnRefused}
}
