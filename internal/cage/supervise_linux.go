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

	"github.com/raymond-action/raymond-action/internal/cage/entry"
	"github.com/raymond-action/raymond-action/internal/cage/warden"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Supervise runs one program in the cage, with this process's streams and directory,
// until it and all that it has started are gone: what it leaves is ended. It returns
// the exit code, as a shell would tell it. SIGTERM is passed on; SIGINT is for the
// program, which has it from the terminal too. The caller is a process that does
// nothing else, and calls it once: the mark of the cage is on it too.
func (c *Cage) Supervise(run Command) (code int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER", err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	begun := make(chan int, 1)
	go func() {
		pid := <-begun
		for s := range signals {
			if s == syscall.SIGTERM {
				_ = syscall.Kill(pid, syscall.SIGTERM) // until it is collected the number is its own
			}
		}
	}()
	entry.Ready()
	pid, status := 0, syscall.WaitStatus(0)
	mark := Mark(strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 10) + ".1")
	err = c.inside(mark, func() (err error) {
		// Package os would first try out what the kernel can do, with a process of its own.
		pid, _, err = syscall.StartProcess(run.Path, run.Args, &syscall.ProcAttr{
			Env: run.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		})
		if err == nil {
			begun <- pid
			status, err = await(pid) // in this thread, with which the child would end
		}
		return err
	})
	if pid == 0 {
		return -1, err
	}
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

// Start calls start from a thread that has gone into the cage: the processes that it
// starts are in there. They carry no mark, so whoever started them ends them. Files
// that start opens by their names are opened as in the cage.
func (c *Cage) Start(start func() error) error { return c.inside(0, start) }

// inside calls do from a thread that has gone into the cage with a mark, and waits for it.
func (c *Cage) inside(mark uint64, do func() error) error {
	plan, err := c.plan(running(), "")
	if err != nil {
		return err
	}
	plan.Mark = mark
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		listener, err := plan.PutOn()
		if listener >= 0 {
			go warden.Serve(context.Background(), os.NewFile(uintptr(listener), "listener"), c.rules(mark))
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// rules say what is decided for what carries a mark.
func (c *Cage) rules(mark uint64) warden.Rules {
	n := c.policy.Network
	return warden.Rules{Mark: mark, Sockets: c.policy.writable(), IsOpen: n.IsOpen, Ports: n.Ports, Refused: n.Refused}
}
