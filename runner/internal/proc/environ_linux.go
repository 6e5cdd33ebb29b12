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

// Further looks after this pause find a process after it has executed its program.
const (
	emptyPause = 2 * time.Millisecond
	maxLooks   = 4
)

// findByEnviron calls each for every live process, except this one, that has an environment entry for
// which test is true. It examines the environment with which the process was started. That is empty if
// the process got none, is dying, or is just executing a program, so findByEnviron looks at that
// process again.
func findByEnviron(pids iter.Seq[int], test func(entry string) bool, each func(processes.Process)) {
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
		if len(blank) == 0 || look == maxLooks {
			return
		}
		time.Sleep(emptyPause)
		pids = slices.Values(blank)
	}
}
