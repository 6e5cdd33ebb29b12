package proc

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/internal/processes"
)

// environ is the environment that a process was started with, as /proc has it.
// It is blank for a process that was given none, that is dying, or that is just
// about to become another program.
type environ []byte

func readEnviron(pid int) (environ, error) {
	return os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
}

// Looks that come this much later find a process past the moment in which it
// becomes another program.
const (
	blankPause = 2 * time.Millisecond
	blankLooks = 4
)

// settledEnviron is readEnviron, but a blank one is looked at again. Of a process
// that may not be looked at it is blank.
func settledEnviron(pid int) environ {
	for look := 1; ; look++ {
		env, err := readEnviron(pid)
		if err != nil {
			return nil
		}
		if len(env) > 0 || look == blankLooks {
			return env
		}
		time.Sleep(blankPause)
	}
}

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
func carriers(pids []int, test func(environ) bool) []processes.Process {
	found, blank := look(pids, test)
	if len(blank) == 0 {
		return found
	}
	time.Sleep(blankPause)
	late, _ := look(blank, test)
	return append(found, late...)
}

// look looks at processes once. Those that show nothing yet are returned as blank.
func look(pids []int, test func(environ) bool) (found []processes.Process, blank []int) {
	for _, pid := range pids {
		env, err := readEnviron(pid)
		if err != nil || len(env) > 0 && !test(env) {
			continue
		}
		p, ok := processes.Stat(pid)
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
