package proc

import (
	"iter"
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// maxLooks is how many times strays looks before it returns while orphans still come:
// what forks and exits all the time leaves new ones for as long as it lives, and only the
// caller can end it.
const maxLooks = 8

// strays returns the live children of this process that are not in the family,
// and collects the dead ones. A dead child in our own process group is left: a
// process that other code started here stays in that group, or is awaited, as package processes knows, and
// that code collects it. What Run starts, and so what descends from it, has other groups.
// If it isn't settled, more may have come since, and another call is due. The
// caller holds family.mu.
func strays() (found []int, settled bool) {
	for range maxLooks {
		var collected bool
		if found, collected = listed(); !collected {
			return found, true
		}
		// What a dead one had started has become a child of ours after the look.
	}
	return found, false
}

// listed is strays, as of one look, which may have collected some.
func listed() (found []int, collected bool) {
	own := syscall.Getpgrp()
	for _, pid := range processes.Children() {
		if family.kin[pid] != nil || processes.IsAwaited(pid) {
			continue
		}
		pgrp, err := syscall.Getpgid(pid)
		if err == nil && pgrp != own && collectZombie(pid) {
			collected = true
			continue
		}
		found = append(found, pid)
	}
	return found, collected
}

// reapStrays collects the orphans that have died meanwhile.
func reapStrays() {
	family.mu.Lock()
	defer family.mu.Unlock()
	strays()
}

// sibling is another child that was not collected yet.
type sibling struct {
	pid   int
	mark  string
	ended bool // it is clearing up itself
}

// around returns the strays and the siblings of k, as of one moment, and whether the
// strays are settled.
func (k *kin) around() (found []int, siblings []sibling, settled bool) {
	family.mu.Lock()
	defer family.mu.Unlock()
	for pid, other := range family.kin {
		if other != k {
			siblings = append(siblings, sibling{pid, other.mark, other.ended})
		}
	}
	found, settled = strays()
	return found, siblings, settled
}

// leftovers looks for what a child that has exited left behind: what is in its cage, its
// orphans with all their descendants and, if everywhere, whatever carries its mark. Each
// is yielded as soon as it is found. A process that is dying stands for those that another
// look may find.
func (k *kin) leftovers(everywhere bool) iter.Seq[processes.Process] {
	return func(yield func(processes.Process) bool) {
		alone := true
		for p := range k.inmates() {
			if alone = false; !yield(p) {
				return
			}
		}
		pids, siblings, settled := k.around()
		if len(pids) == 0 && settled && alone && !everywhere {
			return
		}
		if !settled && !yield(processes.Process{PID: k.pid, Dying: true}) {
			return
		}
		for p := range k.orphans(pids, siblings) {
			if !yield(p) {
				return
			}
		}
		if !everywhere {
			return
		}
		for _, p := range k.marked(siblings) {
			if !yield(p) {
				return
			}
		}
	}
}

// orphans yields those of the strays that come from k, then what descends from them, those
// nearest to this process first: who is stopped when it is yielded has all the children that
// it will ever have when these are looked for. Of a dying one only itself is yielded, which
// shows that another look is due: what it had started may be a sibling's.
func (k *kin) orphans(strays []int, siblings []sibling) iter.Seq[processes.Process] {
	return func(yield func(processes.Process) bool) {
		known := map[int]bool{}
		for next, isStray := strays, true; len(next) > 0; isStray = false {
			var found []int
			for _, pid := range next {
				p, ok := processes.Stat(pid)
				if !ok { // it has ended since, and what it had started is to be looked for
					p = processes.Process{PID: pid, Dying: true}
				}
				if known[pid] || isStray && ok && !k.owns(p, siblings) {
					continue
				}
				known[pid] = true
				if !yield(p) {
					return
				}
				if !p.Dying {
					found = append(found, processes.ChildrenOf(pid)...)
				}
			}
			next = found
		}
	}
}

// inmates are the live processes in the cage of k, wherever they have gone.
func (k *kin) inmates() iter.Seq[processes.Process] {
	if k.caged == 0 {
		return func(func(processes.Process) bool) {}
	}
	return caged(func(mark uint64) bool { return mark == k.caged })
}

// caged looks for the live processes whose mark passes the test, and yields each as soon
// as it is found.
func caged(test func(mark uint64) bool) iter.Seq[processes.Process] {
	return func(yield func(processes.Process) bool) {
		for pid := range processes.All() {
			if !test(cage.MarkOf(pid)) {
				continue
			}
			p, ok := processes.Stat(pid)
			if !ok || p.Dead {
				continue
			}
			if !yield(p) {
				return
			}
		}
	}
}

// owns says whether a stray comes from k, or is dying and due to be collected.
// Its cage, its process group or its mark tells. One that hides all of them is ended with
// the last of the children under way.
func (k *kin) owns(p processes.Process, siblings []sibling) bool {
	apart := p.Group != syscall.Getpgrp()
	if p.Dying {
		return apart
	}
	if mark := cage.MarkOf(p.PID); mark != 0 {
		return mark == k.caged
	}
	if p.Group == k.pid {
		return true
	}
	if !slices.ContainsFunc(siblings, func(s sibling) bool { return !s.ended }) {
		return apart
	}
	return settledEnviron(p.PID).has(k.mark)
}

// marked returns the live processes that carry the mark of k.
func (k *kin) marked(siblings []sibling) []processes.Process {
	if k.mark == "" || slices.ContainsFunc(siblings, func(s sibling) bool { return s.mark == k.mark }) {
		return nil
	}
	found := carriers(slices.Collect(processes.All()), func(env environ) bool { return env.has(k.mark) })
	return slices.DeleteFunc(found, func(p processes.Process) bool { return p.PID == syscall.Getpid() })
}
