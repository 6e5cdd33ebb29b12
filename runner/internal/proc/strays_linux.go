package proc

import (
	"slices"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// strays returns the live strays: the children of this process that are not in the map children, because
// other code or a child of Run started them. It collects dead strays.
//
// It doesn't collect a dead child in this process's own group. Such a process was started by other code,
// which collects it: other code starts processes in that group, or registers them with package
// processes. Children that Run starts, and their descendants, are in other groups.
//
// If settled is false, a dead stray was collected. The stray's own children may have become children of
// this process after the list was made, so strays must be called again. The caller must hold children.mu.
func strays() (found []int, settled bool) {
	settled = true
	own := syscall.Getpgrp()
	for _, pid := range processes.Children() {
		if children.byID[pid] != nil || processes.IsAwaited(pid) {
			continue
		}
		if pgrp, err := syscall.Getpgid(pid); err == nil && pgrp != own {
			var status syscall.WaitStatus
			got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
			if err == nil && got == pid && !status.Stopped() {
				settled = false
				continue
			}
		}
		found = append(found, pid)
	}
	return found, settled
}

// reapStrays collects the strays that have died.
func reapStrays() {
	children.mu.Lock()
	defer children.mu.Unlock()
	strays()
}

// leftovers calls the function each with every process that the exited child k left behind: the processes in
// k's cage, and the strays that come from k with all their descendants. If everywhere is true, it also calls
// each with all other processes that carry k's mark. If one of the processes is dying, another search may
// find more processes.
func (k *process) leftovers(everywhere bool, each func(processes.Process)) {
	if k.caged != 0 {
		findInCages(func(mark uint64) bool { return mark == k.caged }, each)
	}
	// The lock makes the strays and hasOthers describe the same moment.
	children.mu.Lock()
	hasOthers := false // another child of Run is still running
	for _, other := range children.byID {
		hasOthers = hasOthers || other != k && !other.ended
	}
	pids, settled := strays()
	children.mu.Unlock()
	if !settled {
		each(processes.Process{PID: k.pid, Dying: true})
	}
	k.eachOrphan(pids, hasOthers, each)
	if everywhere {
		findByEnviron(processes.All(), k.hasMark, each)
	}
}

// eachOrphan calls the function each with the strays that come from k and then with their descendants,
// parents before children. The order matters: the function each stops a process, so the process can't start
// further children after its children have been listed. The children of a dying process are not listed,
// because they may get another parent; after a call with a dying process, the caller must search again.
// hasOthers is true if another child of Run is still running, so that strays may come from it.
func (k *process) eachOrphan(strays []int, hasOthers bool, each func(processes.Process)) {
	known := map[int]bool{}
	for next, isStray := strays, true; len(next) > 0; isStray = false {
		var found []int
		for _, pid := range next {
			p, ok := processes.Stat(pid)
			// The process has ended since it was listed. Another search must look for its children.
			if !ok {
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

// findInCages calls the function each with every live process in a cage for whose mark test returns true.
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

// owns reports whether a stray comes from k. It checks the stray's cage, process group and mark. A stray
// that hides all three is considered owned by the last running child. A dying stray in another group
// than this process is always considered owned, so that it is collected.
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

// hasMark reports whether an entry of an environment is the mark of k.
func (k *process) hasMark(entry string) bool { return k.mark != "" && entry == k.mark }
