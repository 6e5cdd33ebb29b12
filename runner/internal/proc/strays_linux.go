package proc

import (
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/waited"
)

// strays returns the live children of this process that are not in the family,
// and collects the dead ones. A dead child in our own process group is left: a
// process that other code started here stays in that group, or is known to package
// waited, and that code waits for it. What Run starts, and so what descends from it, has other groups. The
// caller holds family.mu.
func strays() []int {
	for {
		found, collected := listed()
		if !collected {
			return found
		}
		// What a dead one had started has become a child of ours after the look.
	}
}

// listed is strays, as of one look, which may have collected some.
func listed() (found []int, collected bool) {
	own := syscall.Getpgrp()
	for _, pid := range children() {
		if family.kin[pid] != nil || waited.Has(pid) {
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

// around returns the strays and the siblings of k, as of one moment.
func (k *kin) around() (found []int, siblings []sibling) {
	family.mu.Lock()
	defer family.mu.Unlock()
	for pid, other := range family.kin {
		if other != k {
			siblings = append(siblings, sibling{pid, other.mark, other.ended})
		}
	}
	return strays(), siblings
}

// leftovers finds what a child that has exited left behind: its orphans with all
// their descendants and, if everywhere, whatever carries its mark.
func (k *kin) leftovers(everywhere bool) []process {
	pids, siblings := k.around()
	inmates := k.inmates()
	if len(pids) == 0 && len(inmates) == 0 && !everywhere {
		return nil
	}
	all := snapshot()
	found := map[int]process{}
	for _, p := range inmates {
		found[p.pid] = p
	}
	for _, pid := range pids {
		p, ok := all[pid]
		switch {
		case !ok: // it has ended since, and what it had started is to be looked for
			found[pid] = process{pid: pid, dying: true}
		case k.owns(p, siblings, all):
			addTree(found, p, all)
		}
	}
	if everywhere {
		k.addMarked(found, siblings)
	}
	return values(found)
}

// inmates are the live processes in the cage of k, wherever they have gone.
func (k *kin) inmates() []process {
	if k.caged == 0 {
		return nil
	}
	return caged(func(mark uint64) bool { return mark == k.caged })
}

// caged returns the live processes whose mark passes the test.
func caged(test func(mark uint64) bool) []process {
	var found []process
	for _, pid := range pids() {
		if !test(cage.MarkOf(pid)) {
			continue
		}
		if p, ok := readStat(pid); ok && !p.dying {
			found = append(found, p)
		}
	}
	return found
}

// owns says whether a stray comes from k, or is dying and due to be collected.
// Its process group or its mark tells. A stray that hides both belongs to k if k,
// and no running sibling, is old enough to be its ancestor; otherwise the last of
// those siblings will end it.
func (k *kin) owns(p process, siblings []sibling, all map[int]process) bool {
	if p.dying {
		return p.pgrp != syscall.Getpgrp()
	}
	if mark := cage.MarkOf(p.pid); mark != 0 {
		return mark == k.caged
	}
	env := settledEnviron(p.pid)
	for _, s := range siblings {
		if p.pgrp == s.pid || env.has(s.mark) {
			return false
		}
	}
	if p.pgrp == k.pid || env.has(k.mark) {
		return true
	}
	return p.pgrp != syscall.Getpgrp() && k.couldHaveStarted(p, siblings, all)
}

// couldHaveStarted says whether k, and no running sibling, is as old as p.
func (k *kin) couldHaveStarted(p process, siblings []sibling, all map[int]process) bool {
	for _, s := range siblings {
		other, ok := all[s.pid]
		if ok && !s.ended && other.born <= p.born {
			return false
		}
	}
	return all[k.pid].born <= p.born
}

// addMarked adds every live process that carries the mark of k.
func (k *kin) addMarked(found map[int]process, siblings []sibling) {
	if k.mark == "" || slices.ContainsFunc(siblings, func(s sibling) bool { return s.mark == k.mark }) {
		return
	}
	for _, p := range carriers(pids(), func(env environ) bool { return env.has(k.mark) }) {
		if p.pid != syscall.Getpid() {
			found[p.pid] = p
		}
	}
}

// addTree adds a process and its descendants. Of a dying one it adds just itself,
// which shows that another look is due: it may be a sibling's, and its children too.
func addTree(found map[int]process, p process, all map[int]process) {
	if _, known := found[p.pid]; known {
		return
	}
	found[p.pid] = p
	if p.dying {
		return
	}
	for _, other := range all {
		if other.ppid == p.pid {
			addTree(found, other, all)
		}
	}
}

func values(m map[int]process) []process {
	list := make([]process, 0, len(m))
	for _, p := range m {
		list = append(list, p)
	}
	return list
}
