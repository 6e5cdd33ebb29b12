package supervisor

import (
	"slices"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
)

const (
	// termTime is how long what is ended may take to end on SIGTERM (git takes its
	// lock files away), before it gets SIGKILL.
	termTime = 250 * time.Millisecond
	// killTime is when processes that do not even die of SIGKILL are given up: they
	// hang in the kernel, or belong to somebody else.
	killTime = 10 * time.Second
	// spins is how many looks follow each other without a pause. What forks and
	// exits, over and over, is alive under one number for a very short time.
	spins = 200
)

// hunt ends all descendants of this process.
// A process in it is named by PID and Born alone.
type hunt struct {
	met     map[procfs.Process]bool // signalled at least once
	refused map[procfs.Process]bool // not ours to signal
}

// End ends all descendants of this process, which inherits their orphans, and collects
// them. It returns how many it has ended, and how many are left: 0 means that by the
// kernel's own account this process has no children. hurry is closed when nothing is
// to be given time. Nobody else may wait for a child meanwhile.
func End(hurry <-chan struct{}) (ended, left int) {
	if alone() {
		return 0, 0
	}
	h := hunt{met: map[procfs.Process]bool{}, refused: map[procfs.Process]bool{}}
	if h.ask(hurry) || h.kill() {
		return len(h.met), 0
	}
	left = max(1, len(procfs.Below(syscall.Getpid())))
	return max(0, len(h.met)-left), left
}

// alone collects the dead children, and says whether there are no others: then
// nothing descends from this process.
func alone() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return true
		case err == nil && pid == 0:
			return false
		}
	}
}

// ask sends SIGTERM to each descendant once, and gives them time. It says whether
// that was enough.
func (h *hunt) ask(hurry <-chan struct{}) bool {
	began, pause := time.Now(), time.Millisecond
	for time.Since(began) < termTime {
		for _, p := range procfs.Below(syscall.Getpid()) {
			h.signal(p, syscall.SIGTERM)
		}
		select {
		case <-hurry:
			return false
		case <-time.After(pause):
		}
		if alone() {
			return true
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
	return false
}

// signal signals a process, once unless it is SIGKILL.
func (h *hunt) signal(p procfs.Process, sig syscall.Signal) {
	id := procfs.Process{PID: p.PID, Born: p.Born}
	if h.met[id] && sig != syscall.SIGKILL {
		return
	}
	if now, ok := procfs.Stat(p.PID); !ok || now.Dying || now.Born != p.Born {
		return
	}
	h.count(id, syscall.Kill(p.PID, sig))
}

// count notes what came of a signal.
func (h *hunt) count(id procfs.Process, err error) {
	switch err {
	case nil:
		h.met[id] = true
	case syscall.EPERM:
		h.refused[id] = true
	}
}

// kill sends SIGKILL until nothing is left, and says whether that was achieved.
// Children are looked for most often: the number of a child can't belong to another
// process until it was collected here, and what a dead one leaves is a child next.
func (h *hunt) kill() bool {
	pause := time.Millisecond
	for began := time.Now(); time.Since(began) < killTime; {
		found := procfs.Below(syscall.Getpid())
		for _, p := range found {
			h.signal(p, syscall.SIGKILL)
		}
		if h.killChildren() {
			return true
		}
		if len(found) > 0 && !slices.ContainsFunc(found, h.mayEnd) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
	return alone()
}

// mayEnd says whether a process is ours to signal, as far as is known.
func (h *hunt) mayEnd(p procfs.Process) bool {
	return !h.refused[procfs.Process{PID: p.PID, Born: p.Born}]
}

// killChildren kills children for a while, without a pause, and says whether
// nothing is left.
func (h *hunt) killChildren() bool {
	for range spins {
		if alone() {
			return true
		}
		for _, pid := range procfs.Children() {
			h.killChild(pid)
		}
	}
	return false
}

// killChild kills a child, with what is in its process group: the members of a group
// die together, also those that fork at this moment.
func (h *hunt) killChild(pid int) {
	p, ok := procfs.Stat(pid)
	if !ok || p.Dying {
		return
	}
	h.count(procfs.Process{PID: pid, Born: p.Born}, syscall.Kill(pid, syscall.SIGKILL))
	if p.Group == pid {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}
