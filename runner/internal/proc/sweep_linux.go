package proc

import (
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Sweep ends processes that were left behind by a crash. Run itself leaves none behind. Sweep finds
// processes by two kinds of marks. One is the variable MarkVar in a process's environment. Its value must be
// prefix, or prefix followed by a character other than a letter or digit. The other is the mark of a cage.
// The Options.Mark of the cage's child must have been prefix, a dot and a number.
//
// Sweep doesn't end this process, its ancestors and the children of running calls of Run. It returns how
// many processes it ended, after they are gone. If some could not be ended, the error says how many.
func Sweep(prefix string) (int, error) {
	spared := protectedIDs()
	swept, left := processes.End(func(each func(processes.Process)) {
		reapStrays()
		unspared := func(p processes.Process) {
			if !spared[p.PID] {
				each(p)
			}
		}
		findInCages(func(mark uint64) bool { return cage.IsMarkOf(mark, prefix) }, unspared)
		findByEnviron(processes.All(), func(entry string) bool { return beginsWith(entry, MarkVar+"="+prefix) }, unspared)
	})
	if len(left) > 0 {
		return swept, fmt.Errorf("sweep processes: %d can't be ended", len(left))
	}
	return swept, nil
}

// protectedIDs returns the ids of this process, its ancestors, and the children that Run has started and
// not collected.
func protectedIDs() map[int]bool {
	ids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ids[pid]; {
		ids[pid] = true
		p, _ := processes.Stat(pid)
		pid = p.Parent
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	for pid := range children.byID {
		ids[pid] = true
	}
	return ids
}

// beginsWith reports whether an environment entry is equal to mark, or begins with mark and a character
// other than a letter or digit.
func beginsWith(entry, mark string) bool {
	rest, ok := strings.CutPrefix(entry, mark)
	if !ok || rest == "" {
		return ok
	}
	c := rest[0]
	isWord := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 // 0x80: outside of ASCII
	return !isWord
}
