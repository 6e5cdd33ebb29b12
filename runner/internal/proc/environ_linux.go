package proc

import (
	"bytes"
	"strconv"
	"time"

	"github.com/raymond-action/raymond-action/runner/internal/proc/procfs"
)

// environ is the environment that a process was started with, as /proc has it.
// It is blank for a process that was given none, that is dying, or that is just
// about to become another program.
type environ []byte

func readEnviron(pid int) (environ, error) {
	return procfs.Read("/proc/"+strconv.Itoa(pid)+"/environ", 16<<10)
}

// A look that comes this much later finds a process past the moment in which it
// becomes another program.
const blankPause = 2 * time.Millisecond

// has says whether there is exactly this entry.
func (e environ) has(entry string) bool {
	return entry != "" && e.some(func(s []byte) bool { return string(s) == entry })
}

// some says whether any entry passes the test.
func (e environ) some(test func(entry []byte) bool) bool {
	for entry := range bytes.SplitSeq(e, []byte{0}) {
		if test(entry) {
			return true
		}
	}
	return false
}

// carriers returns the live processes among pids whose environment passes the
// test.
func carriers(pids []int, test func(environ) bool) []procfs.Process {
	found, blank := look(pids, test)
	if len(blank) == 0 {
		return found
	}
	rest(blankPause, never)
	late, _ := look(blank, test)
	return append(found, late...)
}

// look looks at processes once. Those that show nothing yet are returned as blank.
func look(pids []int, test func(environ) bool) (found []procfs.Process, blank []int) {
	for _, pid := range pids {
		env, err := readEnviron(pid)
		if err != nil || len(env) > 0 && !test(env) {
			continue
		}
		p, ok := procfs.Stat(pid)
		switch {
		case !ok || p.Dying || p.Kernel:
		case len(env) == 0:
			blank = append(blank, pid)
		default:
			found = append(found, p)
		}
	}
	return found, blank
}
