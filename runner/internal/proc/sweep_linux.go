package proc

import (
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Sweep ends every process that has an entry of the name MarkVar in its
// environment whose value is prefix, or begins with it and then has anything but a
// letter or digit, and every process in a cage of a child whose Options.Mark was
// prefix, a dot and a number. It returns how many it ended, when they are gone. This
// process, its children under way and its ancestors are left alone. The error says how
// many could not be ended.
//
// It is for what a crashed process left behind; after a Run nothing is left.
func Sweep(prefix string) (int, error) {
	spared := untouchable()
	swept, left := processes.End(func(each func(processes.Process)) {
		reapStrays()
		unspared := func(p processes.Process) {
			if !spared[p.PID] {
				each(p)
			}
		}
		caged(func(mark uint64) bool { return cage.IsMarkOf(mark, prefix) }, unspared)
		carriers(processes.All(), func(entry string) bool { return beginsWith(entry, MarkVar+"="+prefix) }, unspared)
	})
	if len(left) > 0 {
		return swept, fmt.Errorf("sweep processes: %d can't be ended", len(left))
	}
	return swept, nil
}

// untouchable returns the ids of this process, its ancestors and its children
// under way.
func untouchable() map[int]bool {
	ids := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !ids[pid]; {
		ids[pid] = true
		p, _ := processes.Stat(pid)
		pid = p.Parent
	}
	family.mu.Lock()
	defer family.mu.Unlock()
	for pid := range family.kin {
		ids[pid] = true
	}
	return ids
}

// beginsWith says whether an entry is mark, or mark and something after a boundary.
func beginsWith(entry, mark string) bool {
	rest, ok := strings.CutPrefix(entry, mark)
	return ok && (rest == "" || !isWord(rest[0]))
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
