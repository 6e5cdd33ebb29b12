package proc

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/processes"
)

// Looks that come this much later find a process past the moment in which it
// becomes another program.
const (
	blankPause = 2 * time.Millisecond
	blankLooks = 4
)

// carriers finds those of the processes that live, but for this one, with an entry in the
// environment that passes the test. The environment, which is the one that a process was started
// with, is blank for one that was given none, that is dying, or that is just about to become
// another program: such a one is looked at again.
func carriers(pids iter.Seq[int], test func(entry string) bool, each func(processes.Process)) {
	for look := 1; ; look++ {
		var blank []int
		for pid := range pids {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if err != nil || pid == os.Getpid() || len(env) > 0 && !slices.ContainsFunc(strings.Split(string(env), "\x00"), test) {
				continue
			}
			p, ok := processes.Stat(pid)
			switch {
			case !ok || p.Dying || p.Kernel:
			case len(env) == 0:
				blank = append(blank, pid)
			default:
				each(p)
			}
		}
		if len(blank) == 0 || look == blankLooks {
			return
		}
		time.Sleep(blankPause)
		pids = slices.Values(blank)
	}
}
