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

// emptyPause is how long findByEnviron waits before it again examines processes whose environment was
// empty. A process that was executing a program usually has an environment after that. maxLooks is the
// maximum number of times that findByEnviron examines a process.
const (
	emptyPause = 2 * time.Millisecond
	maxLooks   = 4
)

// findByEnviron searches pids for live processes, except this one, whose environment contains an entry for
// which test is true. It calls the function each with every process that it finds. It examines the
// environment with which a process was started. That environment appears empty while the process is dying or
// executing a program, so findByEnviron examines such processes again after a pause.
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
