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

// Supervise runs one program in the cage, with this process's streams and directory,
// until it and all that it has started are gone: what it leaves is ended. It returns
// the exit code, as a shell would report it. SIGTERM is passed on; SIGINT is for the
// program, which has it from the terminal too. No thread of this process enters the
// cage: a caged process could trace that thread, and change the memory of all others.
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
	runtime.LockOSThread() // the child is killed when the thread ends that has started it
	defer runtime.UnlockOSThread()
	// Package os would first try out what the kernel can do, with a process of its own.
	pid, _, err := syscall.StartProcess(EntryProgram, in.Arguments(run.Args), &syscall.ProcAttr{
		Env: run.Env, Files: []uintptr{0, 1, 2, in.File().Fd()}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return -1, err
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = syscall.Kill(pid, syscall.SIGTERM) // until it is collected the number is its own
			}
		}
	}()
	err = in.Admit() // a child that can't enter ends by itself
	status, waitErr := await(pid)
	err = errors.Join(err, waitErr)
	signal.Stop(signals)
	if left := processes.EndDescendants(); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("end what the command has started: %s still run", strings.Join(left, ", ")))
	}
	if status.Signaled() {
		return signalled + int(status.Signal()), err
	}
	return status.ExitStatus(), err
}

// signalled is what shells add to the number of the signal that ended a program.
const signalled = 128

// await returns when a child has ended, and collects the orphans that end before.
func await(pid int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		// One that has itself traced by this process is stopped, and lives.
		if !errors.Is(err, syscall.EINTR) && (err != nil || got == pid && !status.Stopped()) {
			return status, os.NewSyscallError("wait4", err)
		}
	}
}

// StartInside calls start from a thread that has gone into the cage: the processes that it
// starts are in there. They carry no mark, so whoever started them ends them. Files
// that start opens by their names are opened as in the cage.
func (c *Cage) StartInside(start func() error) error {
	plan, err := c.plan(running(), "")
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		// The first thread would never end, and a caged process could trace it.
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

// rules say what is decided for what carries a mark.
func (c *Cage) rules(mark uint64) warden.Rules {
	n := c.policy.Network
	return warden.Rules{Mark: mark, IsOpen: n.IsOpen, Ports: n.Ports, OnRefused: n.OnRefused}
}
