package proc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
)

const (
	// sweepTerm is how long what is swept may take to end on SIGTERM (git takes
	// its lock files away), before it gets SIGKILL.
	sweepTerm = 250 * time.Millisecond
	// sweepMany is how many get that time. More than these may be a bomb, which would take
	// all processes and all CPUs meanwhile.
	sweepMany = 64
	// sweepMax is when processes that do not even die of SIGKILL are given up, if no others
	// come to light: they hang in the kernel.
	sweepMax = 10 * time.Second
	// sweepLimit is when a sweep is given up whatever comes to light.
	sweepLimit = time.Minute
)

// Sweep ends every process that has an entry of the name markVar in its
// environment whose value is prefix, or begins with it and then has anything but a
// letter or digit, and every process in a cage of a child whose Options.Mark was
// prefix, a dot and a number. It returns how many it ended, when they are gone. This
// process, its children under way and its ancestors are left alone. The error is
// that of ctx, or says how many could not be ended.
//
// It is for what a crashed process left behind; after a Run nothing is left.
func Sweep(ctx context.Context, markVar, prefix string) (int, error) {
	spared := untouchable()
	find := func(yield func(process) bool) {
		for p := range caged(func(mark uint64) bool { return cage.IsOf(mark, prefix) }) {
			if !spared[p.pid] && !yield(p) {
				return
			}
		}
		for _, p := range marked(markVar+"="+prefix, spared) {
			if !yield(p) {
				return
			}
		}
	}
	swept, left := endAll(find, ctx.Done())
	if err := ctx.Err(); err != nil && left > 0 {
		return swept, fmt.Errorf("sweep processes: %w", err)
	}
	if left > 0 {
		return swept, fmt.Errorf("sweep processes: %d can't be ended", left)
	}
	return swept, nil
}

// untouchable returns the ids of this process, its ancestors and its children
// under way.
func untouchable() map[int]bool {
	ids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ids[pid]; {
		ids[pid] = true
		p, _ := readStat(pid)
		pid = p.ppid
	}
	family.mu.Lock()
	defer family.mu.Unlock()
	for pid := range family.kin {
		ids[pid] = true
	}
	return ids
}

// marked finds the live processes that carry a mark.
func marked(entry string, spared map[int]bool) []process {
	candidates := slices.DeleteFunc(slices.Collect(processes()), func(pid int) bool { return spared[pid] })
	return carriers(candidates, func(env environ) bool {
		return env.some(func(e []byte) bool { return beginsWith(e, entry) })
	})
}

// beginsWith says whether an entry is mark, or mark and something after a boundary.
func beginsWith(entry []byte, mark string) bool {
	rest, ok := strings.CutPrefix(string(entry), mark)
	return ok && (rest == "" || !isWord(rest[0]))
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// hunt is one sweep under way. A process in it is named by pid and born alone.
type hunt struct {
	find    iter.Seq[process]
	pending map[process]bool // found, and not gone yet
	hits    map[process]bool // signalled at least once
	stopped map[process]bool // so that they start no more
	refused map[process]bool // not ours to signal
	groups  map[int]int      // the round in which a group was signalled last
	rounds  int
}

// endAll ends what find yields, again and again until it yields nothing more that can be
// ended. find must not yield this process or a child under way.
func endAll(find iter.Seq[process], stop <-chan struct{}) (swept, left int) {
	h := newHunt(find)
	began := time.Now()
	last := began // when another one was found
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		before := len(h.hits)
		if h.look(time.Since(began)) == 0 {
			return len(h.hits), len(h.refused)
		}
		if len(h.hits) > before {
			last, pause = time.Now(), time.Millisecond // what forks is looked at again at once
		}
		if time.Since(last) > sweepMax || time.Since(began) > sweepLimit || !rest(pause, stop) {
			return len(h.hits), h.remaining()
		}
	}
}

func newHunt(find iter.Seq[process]) *hunt {
	return &hunt{
		find: find, pending: map[process]bool{}, hits: map[process]bool{}, stopped: map[process]bool{}, refused: map[process]bool{},
		groups: map[int]int{},
	}
}

// look ends what there is, after the sweep has taken so long, and returns how many may not
// be gone yet.
func (h *hunt) look(after time.Duration) int {
	if after < sweepTerm && len(h.hits) <= sweepMany {
		return h.round(syscall.SIGTERM) + len(h.pending)
	}
	return h.kill() + len(h.pending)
}

// kill kills what there is, once all of it is stopped.
func (h *hunt) kill() int {
	h.halt()
	return h.round(syscall.SIGKILL)
}

// remaining is how many a sweep that is given up leaves: those that it has not ended, and what
// it finds all the same, as the last ones of those that fork and exit all the time may be gone.
func (h *hunt) remaining() int {
	for p := range h.find {
		h.pending[process{pid: p.pid, born: p.born}] = true
	}
	maps.Copy(h.pending, h.refused)
	return len(h.pending)
}

// halt stops what is found until nothing new is. Who is stopped starts no others while these
// are killed, and keeps its place among the processes that the user may have. Parents are
// found before their children.
func (h *hunt) halt() {
	for range maxStops {
		h.rounds++
		before := len(h.stopped)
		for p := range h.find {
			id := process{pid: p.pid, born: p.born}
			if p.dying || h.refused[id] || h.stopped[id] {
				continue
			}
			h.stopped[id], h.pending[id] = true, true
			h.hit(p, syscall.SIGSTOP)
		}
		if len(h.stopped) == before {
			return
		}
	}
}

// rest waits, and returns false when it was stopped.
func rest(d time.Duration, stop <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}

// round signals everything that is found, each as soon as it is, lets go of what is gone,
// and returns how many were found: when what had been pending is gone, its children
// may have come to light.
func (h *hunt) round(sig syscall.Signal) int {
	h.rounds++
	found := map[process]bool{}
	for p := range h.find {
		id := process{pid: p.pid, born: p.born}
		if h.refused[id] {
			continue
		}
		found[id], h.pending[id] = true, true
		if sig == syscall.SIGKILL || !h.hits[id] {
			h.hit(p, sig)
		}
		if sig == syscall.SIGTERM && len(h.hits) > sweepMany {
			break
		}
	}
	for id := range h.pending {
		if sig == syscall.SIGKILL && !found[id] {
			h.hit(id, sig)
		}
		if h.refused[id] || gone(id) {
			delete(h.pending, id)
		}
	}
	return len(found)
}

// hit signals one process, unless its id belongs to another by now. With one that is
// grouped its whole group is signalled: no process of a group can fork meanwhile, so that
// those which fork and exit all the time don't get away. SIGTERM goes to each only once,
// since a second one makes some give up what they are clearing up.
func (h *hunt) hit(target process, sig syscall.Signal) {
	p, err := os.FindProcess(target.pid) // holds on to this very process where the kernel can
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	now, ok := readStat(target.pid)
	if !ok || now.dying || now.born != target.born {
		return
	}
	id := process{pid: target.pid, born: target.born}
	if target.grouped && h.hitGroup(now.pgrp, sig) {
		h.hits[id] = true
		return
	}
	if errors.Is(p.Signal(sig), os.ErrPermission) {
		h.refused[id] = true
		return
	}
	h.hits[id] = true
}

// hitGroup signals a process group, once in a round, and reports whether that was enough
// for a process in it. A group that had a SIGTERM in an earlier round gets no other one:
// who has come into it since is signalled alone. A SIGKILL is repeated for each alone, which
// tells those that refuse it.
func (h *hunt) hitGroup(pgrp int, sig syscall.Signal) bool {
	if pgrp <= 1 || pgrp == syscall.Getpgrp() {
		return false
	}
	last, before := h.groups[pgrp]
	if before && (last == h.rounds || sig == syscall.SIGTERM) {
		return last == h.rounds && sig == syscall.SIGTERM
	}
	h.groups[pgrp] = h.rounds
	return syscall.Kill(-pgrp, sig) == nil && sig == syscall.SIGTERM
}

// gone says whether a process is no more. It collects what had become a child of
// ours; the dead children of others count as gone.
func gone(id process) bool {
	family.mu.Lock()
	collectZombie(id.pid)
	family.mu.Unlock()
	now, ok := readStat(id.pid)
	return !ok || now.born != id.born || now.dying && now.ppid != syscall.Getpid()
}

// collectZombie collects a dead child that is not in the family, and says whether
// there was one. The caller holds family.mu.
func collectZombie(pid int) bool {
	if family.kin[pid] != nil {
		return false
	}
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid && !status.Stopped()
}
