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

// Supervise runs one program in the cage, with the standard streams and the directory of this process. It
// returns when the program has ended and all processes that it left behind have been ended. It returns
// the same exit code as a shell. SIGTERM is passed on to the program; SIGINT is ignored here, because the
// program gets it from the terminal too. No thread of this process enters the cage: a caged process could
// trace that thread and change the memory that all threads share.
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
	runtime.LockOSThread() // because Pdeathsig kills the child when the thread that started it ends
	defer runtime.UnlockOSThread()
	// Package os would start another process first, to probe features of the kernel.
	pid, _, err := syscall.StartProcess(EntryProgram, in.Arguments(run.Args), &syscall.ProcAttr{
		Env: run.Env, Files: []uintptr{0, 1, 2, in.File().Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return -1, err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = syscall.Kill(pid, syscall.SIGTERM) // the id belongs to the child until await collects it
			}
		}
	}()
	err = in.Admit() // a child that can't enter exits
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

// signalBase is added by shells to the number of the signal that ended a program.
const signalBase = 128

// await waits for a child and collects the orphans that end before it.
func await(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		// The kernel also reports a stop of a child that lets this process trace it. That child is
		// still alive.
		if !errors.Is(err, syscall.EINTR) && (err != nil || got == pid && !status.Stopped()) {
			return status, os.NewSyscallError("wait4", err)
		}
	}
}

// StartInside calls start on a thread that has entered the cage, so that the processes that start starts are
// confined. They carry no mark, so the caller must end them. start can open only files that the cage allows.
func (c *Cage) StartInside(start func() error) error {
	plan, err := c.plan(currentKernel(), "")
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		// The first thread would live as long as the program, and a caged process could trace it.
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

// rules returns the warden's rules for the processes that carry a mark.
func (c *Cage) rules(mark uint64) warden.Rules {
	n := c.policy.Network
	return warden.Rules{Mark: mark, IsOpen: n.IsOpen, Ports: n.Ports, OnRefused: n.OnRefused}
}
