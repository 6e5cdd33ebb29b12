package proc

import (
	"slices"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
)

// strays returns the live children of this process that are not in the family,
// and collects the dead ones. A child in our own process group is left: a process
// that other code started here stays in that group, and that code waits for it. What
// descends from a supervisor can't join it, being of another session. The caller
// holds family.mu.
func strays() []int {
	var found []int
	own := syscall.Getpgrp()
	for _, pid := range procfs.Children() {
		if family.kin[pid] != nil {
			continue
		}
		pgrp, err := syscall.Getpgid(pid)
		if err == nil && pgrp == own || collectZombie(pid) {
			continue
		}
		found = append(found, pid)
	}
	return found
}

// reapStrays collects the orphans that have died meanwhile.
func reapStrays() {
	family.mu.Lock()
	defer family.mu.Unlock()
	strays()
}

// quietLooks is how many looks that follow each other have to find no stray: what
// forks and exits all the time can be missed by a look.
const quietLooks = 10

// endStrays ends what got past the supervisor of a child, by killing or stopping it,
// and then what these leave in turn. The orphans of other children have supervisors of
// their own. If the supervisor is known to be lost it looks more than once. It returns
// how many it ended, and how many could not be.
func endStrays(lost bool) (ended, left int) {
	met := map[procfs.Process]bool{}
	giveUp := time.Now().Add(sweepMax)
	for quiet := 0; quiet < quietLooks; quiet++ {
		killed, alive := killStrays(met)
		if alive > 0 && (!killed || time.Now().After(giveUp)) {
			return len(met), alive
		}
		if alive > 0 {
			quiet = -1
		} else if len(met) == 0 && !lost {
			return 0, 0 // as nearly always: nothing got past
		}
		rest(200*time.Microsecond, never)
	}
	return len(met), 0
}

// killStrays kills what is a stray now, and notes it in met. It says whether any of
// them may be killed, and how many there are.
func killStrays(met map[procfs.Process]bool) (killed bool, alive int) {
	family.mu.Lock()
	defer family.mu.Unlock() // nothing that is killed here is collected meanwhile
	found := strays()
	for _, pid := range found {
		p, ok := procfs.Stat(pid)
		if !ok || syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = true
			met[procfs.Process{PID: pid, Born: p.Born}] = true
		}
	}
	return killed, len(found)
}

// marked finds every live process that carries the mark of k, unless it is another
// child's mark too.
func (k *kin) marked() []procfs.Process {
	if k.mark == "" || k.sharesMark() {
		return nil
	}
	all := carriers(procfs.IDs(), func(env environ) bool { return env.has(k.mark) })
	return slices.DeleteFunc(all, func(p procfs.Process) bool { return p.PID == syscall.Getpid() })
}

// sharesMark says whether another child under way has the same mark.
func (k *kin) sharesMark() bool {
	family.mu.Lock()
	defer family.mu.Unlock()
	for _, other := range family.kin {
		if other != k && other.mark == k.mark {
			return true
		}
	}
	return false
}
