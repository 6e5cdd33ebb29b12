package proc

import (
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// strays returns the live children of this process that are not in the family,
// and collects the dead ones. A dead child in our own process group is left: a
// process that other code started here stays in that group, or is awaited, as package processes knows, and
// that code collects it. What Run starts, and so what descends from it, has other groups.
// If it isn't settled, what one that was dead had started may have become a child of ours
// after the look, and another call is due. The caller holds family.mu.
func strays() (found []int, settled bool) {
	settled = true
	own := syscall.Getpgrp()
	for _, pid := range processes.Children() {
		if family.kin[pid] != nil || processes.IsAwaited(pid) {
			continue
		}
		pgrp, err := syscall.Getpgid(pid)
		if err == nil && pgrp != own && collectZombie(pid) {
			settled = false
			continue
		}
		found = append(found, pid)
	}
	return found, settled
}

// collectZombie collects a child if it is dead, and says whether it was.
func collectZombie(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid && !status.Stopped()
}

// reapStrays collects the orphans that have died meanwhile.
func reapStrays() {
	family.mu.Lock()
	defer family.mu.Unlock()
	strays()
}

// around returns the strays, whether they are settled, and whether a child is under way that
// isn't clearing up itself, as of one moment.
func (k *kin) around() (found []int, settled, hasOthers bool) {
	family.mu.Lock()
	defer family.mu.Unlock()
	for _, other := range family.kin {
		hasOthers = hasOthers || other != k && !other.ended
	}
	found, settled = strays()
	return found, settled, hasOthers
}

// leftovers finds what a child that has exited left behind: what is in its cage, its
// orphans with all their descendants and, if everywhere, whatever carries its mark. A process
// that is dying stands for those that another look may find.
func (k *kin) leftovers(everywhere bool, each func(processes.Process)) {
	if k.caged != 0 {
		caged(func(mark uint64) bool { return mark == k.caged }, each)
	}
	pids, settled, hasOthers := k.around()
	if !settled {
		each(processes.Process{PID: k.pid, Dying: true})
	}
	k.orphans(pids, hasOthers, each)
	if everywhere {
		carriers(processes.All(), k.isOurs, each)
	}
}

// orphans finds those of the strays that come from k, then what descends from them, those
// nearest to this process first: who is stopped when it is found has all the children that
// it will ever have when these are looked for. Of a dying one only itself is found, which
// shows that another look is due: what it had started may be a sibling's.
func (k *kin) orphans(strays []int, hasOthers bool, each func(processes.Process)) {
	known := map[int]bool{}
	for next, isStray := strays, true; len(next) > 0; isStray = false {
		var found []int
		for _, pid := range next {
			p, ok := processes.Stat(pid)
			if !ok { // it has ended since, and what it had started is to be looked for
				p = processes.Process{PID: pid, Dying: true}
			}
			if known[pid] || isStray && ok && !k.owns(p, hasOthers) {
				continue
			}
			known[pid] = true
			each(p)
			if !p.Dying {
				found = append(found, processes.ChildrenOf(pid)...)
			}
		}
		next = found
	}
}

// caged finds the live processes in cages whose mark passes the test.
func caged(test func(mark uint64) bool, each func(processes.Process)) {
	for pid := range processes.All() {
		if !test(cage.MarkOf(pid)) {
			continue
		}
		if p, ok := processes.Stat(pid); ok && !p.Dead {
			each(p)
		}
	}
}

// owns says whether a stray comes from k, or is dying and due to be collected.
// Its cage, its process group or its mark tells. One that hides all of them is ended with
// the last of the children under way.
func (k *kin) owns(p processes.Process, hasOthers bool) (is bool) {
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
	if !hasOthers {
		return apart
	}
	carriers(slices.Values([]int{p.PID}), k.isOurs, func(processes.Process) { is = true })
	return is
}

// isOurs reports whether an entry of an environment is the mark of k.
func (k *kin) isOurs(entry string) bool { return k.mark != "" && entry == k.mark }
