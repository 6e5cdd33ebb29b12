package proc

import (
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// strays returns the live children of this process that are not in children, and collects the dead ones.
// It leaves a dead child in this process's own group: processes that other code starts stay in that
// group, or are registered with package processes, and that code collects them. Children that Run
// starts, and their descendants, have other groups. If settled is false, children of a dead stray may
// have become children of this process after the listing, and strays must be called again. The caller
// holds children.mu.
func strays() (found []int, settled bool) {
	settled = true
	own := syscall.Getpgrp()
	for _, pid := range processes.Children() {
		if children.byID[pid] != nil || processes.IsAwaited(pid) {
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

// collectZombie collects a child if it is dead, and reports whether it was.
func collectZombie(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid && !status.Stopped()
}

// reapStrays collects the orphans that have died.
func reapStrays() {
	children.mu.Lock()
	defer children.mu.Unlock()
	strays()
}

// listStrays returns the strays, whether they are settled, and whether another child is still running.
// All three describe the same moment.
func (k *process) listStrays() (found []int, settled, hasOthers bool) {
	children.mu.Lock()
	defer children.mu.Unlock()
	for _, other := range children.byID {
		hasOthers = hasOthers || other != k && !other.ended
	}
	found, settled = strays()
	return found, settled, hasOthers
}

// leftovers finds the processes that an exited child left behind: the processes in its cage, its
// orphans with all their descendants and, if everywhere is set, all processes that carry its mark. A
// dying process in the result means that another search may find more.
func (k *process) leftovers(everywhere bool, each func(processes.Process)) {
	if k.caged != 0 {
		findInCages(func(mark uint64) bool { return mark == k.caged }, each)
	}
	pids, settled, hasOthers := k.listStrays()
	if !settled {
		each(processes.Process{PID: k.pid, Dying: true})
	}
	k.orphans(pids, hasOthers, each)
	if everywhere {
		findByEnviron(processes.All(), k.hasMark, each)
	}
}

// orphans finds the strays that come from k, then their descendants, those nearest to this process
// first. The order matters: each process is stopped when it is found, so that it can't start further
// children by the time its children are listed. The children of a dying process are not listed. It
// shows that another search is needed, because its children may get another parent.
func (k *process) orphans(strays []int, hasOthers bool, each func(processes.Process)) {
	known := map[int]bool{}
	for next, isStray := strays, true; len(next) > 0; isStray = false {
		var found []int
		for _, pid := range next {
			p, ok := processes.Stat(pid)
			if !ok { // it has ended since; a further search must look for its children
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

// findInCages finds the live processes in cages whose mark passes the test.
func findInCages(test func(mark uint64) bool, each func(processes.Process)) {
	for pid := range processes.All() {
		if !test(cage.MarkOf(pid)) {
			continue
		}
		if p, ok := processes.Stat(pid); ok && !p.Dead {
			each(p)
		}
	}
}

// owns reports whether a stray comes from k, or is dying and must be collected. It checks the stray's
// cage, process group and mark. A process that hides all three is ended together with the last running
// child.
func (k *process) owns(p processes.Process, hasOthers bool) (isOwner bool) {
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
	findByEnviron(slices.Values([]int{p.PID}), k.hasMark, func(processes.Process) { isOwner = true })
	return isOwner
}

// hasMark reports whether an environment entry is the mark of k.
func (k *process) hasMark(entry string) bool { return k.mark != "" && entry == k.mark }
