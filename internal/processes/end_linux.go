package processes

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// grace is the time that processes get to end after SIGTERM. Git uses it to remove its lock files.
	grace = 250 * time.Millisecond
	// maxGraceful is the maximum number of processes that get the time grace. More of them may be a fork
	// bomb, which would use up all PIDs and the CPU during that time.
	maxGraceful = 64
	// maxStops is the maximum number of rounds of SIGSTOP before each SIGKILL.
	maxStops = 100
	// patience is how long processes may survive SIGKILL because they hang in the kernel. The time starts
	// again when a new process is found.
	patience = 10 * time.Second
	// limit is the time after which End gives up, even if it still finds new processes.
	limit = time.Minute
)

// Finder calls the function each for every process that it finds. It finds parents before their children.
type Finder func(each func(Process))

// End ends the processes that the Finder finds. It searches until two searches in a row find no process,
// because orphans of a process that has ended appear a moment later. Processes get SIGTERM, then SIGSTOP, then
// SIGKILL. A stopped process can't start others, but still counts toward the user's process limit. End
// waits until the processes have ended. It returns the number of processes that it signalled, and the
// processes that it could not end. The Finder must skip this process and its awaited children, and must
// collect the dead children of this process.
func End(find Finder) (ended int, left []Process) {
	r := reaper{find: find, patience: patience, signal: (*os.Process).Signal}
	return r.end()
}

// end signals processes until the Finder finds no more, or until they take too long to end. It returns the
// results of End.
func (r *reaper) end() (ended int, left []Process) {
	r.signalled, r.pending, r.stopped, r.refused = map[Process]bool{}, map[Process]bool{}, map[Process]bool{}, map[Process]bool{}
	began := time.Now()
	last := began // time at which the latest new process was found
	for quiet, pause := 0, time.Millisecond; quiet < 2; pause = min(2*pause, 20*time.Millisecond) {
		before := len(r.signalled)
		if r.sweep(time.Since(began))+r.countPending() == 0 {
			quiet++
			continue
		}
		quiet = 0
		if len(r.signalled) > before {
			last, pause = time.Now(), time.Millisecond // search again after a short pause, because processes are forking
		}
		if time.Since(last) > r.patience || time.Since(began) > limit {
			// The processes that End could not end are pending ones, those that the Finder still finds, and those
			// that this process may not signal.
			r.countPending()
			all := maps.Clone(r.refused)
			maps.Copy(all, r.pending)
			r.find(func(p Process) { all[Process{PID: p.PID, StartTime: p.StartTime}] = true })
			return len(r.signalled), slices.Collect(maps.Keys(all))
		}
		time.Sleep(pause)
	}
	return len(r.signalled), slices.Collect(maps.Keys(r.refused))
}

// reaper does the work of one call of End. It identifies processes by PID and StartTime. In the keys of its
// maps, all other fields are zero.
type reaper struct {
	find      Finder
	signalled map[Process]bool // processes that were signalled at least once
	pending   map[Process]bool // processes that were signalled and had not ended at the last check
	stopped   map[Process]bool
	refused   map[Process]bool // processes that this process has no permission to signal
	signal    func(*os.Process, os.Signal) error
	patience  time.Duration
}

// sweep signals all processes that the Finder finds and returns their number. During the grace period, each
// process gets one SIGTERM. After that, or if there are too many processes, sweep stops all of them, so that
// they can't start others, and kills them. The parameter after is the time since the first sweep.
func (r *reaper) sweep(after time.Duration) int {
	if after < grace && len(r.signalled) <= maxGraceful {
		return r.each(syscall.SIGTERM, r.signalled) // some programs stop their cleanup at a second SIGTERM
	}
	for range maxStops {
		before := len(r.stopped)
		r.each(syscall.SIGSTOP, r.stopped)
		if len(r.stopped) == before {
			break
		}
	}
	return r.each(syscall.SIGKILL, nil)
}

// each signals every process as soon as the Finder finds it, except the processes in done. If done is not
// nil, each adds the processes that it signalled. It returns how many of the processes that it found this
// process may signal.
func (r *reaper) each(sig syscall.Signal, done map[Process]bool) (found int) {
	r.find(func(p Process) {
		id := Process{PID: p.PID, StartTime: p.StartTime}
		if r.refused[id] {
			return
		}
		found++
		if !p.Dying && !done[id] && r.hit(id, sig) && done != nil {
			done[id] = true
		}
	})
	return found
}

// hit signals one process and reports whether it did. If the PID now belongs to another process, it does
// nothing.
func (r *reaper) hit(id Process, sig syscall.Signal) bool {
	p, err := os.FindProcess(id.PID) // a pidfd, if the kernel supports it, so that the PID can't be reused
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	if now, ok := Stat(id.PID); !ok || now.Dying || now.StartTime != id.StartTime {
		return false
	}
	if errors.Is(r.signal(p, sig), os.ErrPermission) {
		r.refused[id] = true
		return false
	}
	r.signalled[id], r.pending[id] = true, true
	return true
}

// countPending deletes the processes that have ended from r.pending, and returns the number of the others.
func (r *reaper) countPending() int {
	maps.DeleteFunc(r.pending, func(id Process, _ bool) bool {
		now, ok := Stat(id.PID)
		return !ok || now.Dead || now.StartTime != id.StartTime
	})
	return len(r.pending)
}

// EndDescendants ends all descendants of this process, whatever their process group, session, environment
// or parent. It returns the PID and the command of each process that it could not end, for example "12
// (sleep 300)". Call it at the end of a program that adopts orphans (PR_SET_CHILD_SUBREAPER), when no
// goroutine starts a child or waits for one.
func EndDescendants() []string {
	_, left := End(descendants)
	return describe(left)
}

// descendants is a Finder of the living descendants of this process. It collects this process's dead
// children.
func descendants(each func(Process)) {
	for pid := 1; pid > 0; {
		pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	}
	for next := []int{syscall.Getpid()}; len(next) > 0; {
		var found []int
		for _, pid := range next {
			for _, child := range ChildrenOf(pid) {
				p, ok := Stat(child)
				if p.Dead {
					continue // a dead process has no children
				}
				if !ok {
					p = Process{PID: child, Dying: true} // its children are searched for nevertheless
				}
				each(p)
				found = append(found, child)
			}
		}
		next = found
	}
}

// describe returns the PID and the command line of each process that has not ended.
func describe(all []Process) (names []string) {
	for _, p := range all {
		now, ok := Stat(p.PID)
		if !ok || now.Dead || now.StartTime != p.StartTime {
			continue // it has ended after the last check
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		words := strings.TrimSpace(strings.ReplaceAll(string(line[:min(len(line), maxCommandLine)]), "\x00", " "))
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, words))
	}
	slices.Sort(names)
	return names
}

// maxCommandLine is the maximum number of bytes of a command line that are shown.
const maxCommandLine = 100
