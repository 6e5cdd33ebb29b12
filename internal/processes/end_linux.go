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
	// grace is how long what is found may take to end on SIGTERM (git takes its lock files away).
	grace = 250 * time.Millisecond
	// many is how many get that time. More than these may be a bomb, which would take
	// all processes and all CPUs meanwhile.
	many = 64
	// maxStops is how many times processes are looked for before those that are known are killed.
	maxStops = 100
	// patience is when processes that do not even die of SIGKILL are given up, if no others
	// come to light: they hang in the kernel.
	patience = 10 * time.Second
	// limit is when all are given up, whatever comes to light.
	limit = time.Minute
)

// Finder calls a function with each process that it finds, parents before their children.
type Finder func(each func(Process))

// End ends what find finds: it is asked to end, then stopped, so that it starts no others and
// keeps its place among the processes that the user may have, and killed, until two looks in a
// row find nothing: what one has left comes to light a moment later. It returns how many it
// ended, and those that it could not end. A process that is dying is waited for. find finds
// neither this process nor a child that somebody awaits, and collects the dead children of this
// process.
func End(find Finder) (ended int, left []Process) {
	h := hunt{find: find, patience: patience, signal: (*os.Process).Signal}
	return h.end()
}

func (h *hunt) end() (ended int, left []Process) {
	h.hits, h.pending, h.stopped, h.refused = map[Process]bool{}, map[Process]bool{}, map[Process]bool{}, map[Process]bool{}
	began := time.Now()
	last := began // when another one was found
	for quiet, pause := 0, time.Millisecond; quiet < 2; pause = min(2*pause, 20*time.Millisecond) {
		before := len(h.hits)
		if h.look(time.Since(began))+h.lingering() == 0 {
			quiet++
			continue
		}
		quiet = 0
		if len(h.hits) > before {
			last, pause = time.Now(), time.Millisecond // what forks is looked at again at once
		}
		if time.Since(last) > h.patience || time.Since(began) > limit {
			return len(h.hits), h.remaining()
		}
		time.Sleep(pause)
	}
	return len(h.hits), slices.Collect(maps.Keys(h.refused))
}

// hunt is one End under way. A process in it is named by PID and Born alone.
type hunt struct {
	find     Finder
	hits     map[Process]bool // signalled at least once
	pending  map[Process]bool // signalled, and not gone when it was looked at last
	stopped  map[Process]bool
	refused  map[Process]bool // not ours to signal
	signal   func(*os.Process, os.Signal) error
	patience time.Duration
}

// look ends what there is, so long after the first look, and returns how many it has found.
func (h *hunt) look(after time.Duration) int {
	if after < grace && len(h.hits) <= many {
		return h.each(syscall.SIGTERM, h.hits) // a second one makes some give up what they are clearing up
	}
	for range maxStops {
		before := len(h.stopped)
		h.each(syscall.SIGSTOP, h.stopped)
		if len(h.stopped) == before {
			break
		}
	}
	return h.each(syscall.SIGKILL, nil)
}

// each signals what is found, as soon as it is, but not those that are in done, to which it adds
// them. It returns how many may be ended yet.
func (h *hunt) each(sig syscall.Signal, done map[Process]bool) (found int) {
	h.find(func(p Process) {
		id := Process{PID: p.PID, StartTime: p.StartTime}
		if h.refused[id] {
			return
		}
		found++
		if !p.Dying && !done[id] && h.hit(id, sig) && done != nil {
			done[id] = true
		}
	})
	return found
}

// hit signals one process, unless its id belongs to another by now, and reports whether it did.
func (h *hunt) hit(id Process, sig syscall.Signal) bool {
	p, err := os.FindProcess(id.PID) // holds on to this very process where the kernel can
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	if now, ok := Stat(id.PID); !ok || now.Dying || now.StartTime != id.StartTime {
		return false
	}
	if errors.Is(h.signal(p, sig), os.ErrPermission) {
		h.refused[id] = true
		return false
	}
	h.hits[id], h.pending[id] = true, true
	return true
}

// lingering returns how many of those that were signalled aren't gone.
func (h *hunt) lingering() int {
	maps.DeleteFunc(h.pending, func(id Process, _ bool) bool {
		now, ok := Stat(id.PID)
		return !ok || now.Dead || now.StartTime != id.StartTime
	})
	return len(h.pending)
}

// remaining are those that are given up.
func (h *hunt) remaining() []Process {
	h.lingering()
	left := maps.Clone(h.refused)
	maps.Copy(left, h.pending)
	h.find(func(p Process) { left[Process{PID: p.PID, StartTime: p.StartTime}] = true })
	return slices.Collect(maps.Keys(left))
}

// EndDescendants ends everything that descends from this process, whatever its group, session,
// environment or parent, and returns what it could not end, for people: "12 (sleep 300)". It
// is for the end of a program that orphans come to (PR_SET_CHILD_SUBREAPER), and must not be
// called while anything of it starts or awaits a child.
func EndDescendants() []string {
	_, left := End(descendants)
	return named(left)
}

// descendants finds the processes that descend from this one and live, and collects its dead
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
					continue // it has neither children nor a future
				}
				if !ok {
					p = Process{PID: child, Dying: true} // what it had started is to be looked for
				}
				each(p)
				found = append(found, child)
			}
		}
		next = found
	}
}

// named says which processes these are.
func named(all []Process) (names []string) {
	for _, p := range all {
		now, ok := Stat(p.PID)
		if !ok || now.Dead || now.StartTime != p.StartTime {
			continue // it is gone by now
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		words := strings.TrimSpace(strings.ReplaceAll(string(line[:min(len(line), maxName)]), "\x00", " "))
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, words))
	}
	slices.Sort(names)
	return names
}

// maxName is how many bytes of a command line are told.
const maxName = 100
