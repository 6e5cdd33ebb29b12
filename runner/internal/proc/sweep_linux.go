package proc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// Sweep ends every process that has an entry of the name markVar in its
// environment whose value is prefix, or begins with it and then has anything but a
// letter or digit, and every process in a cage of a child whose Options.Mark was
// prefix, a dot and a number. It returns how many it ended, when they are gone. This
// process, its children under way and its ancestors are left alone. The error is
// that of ctx, or says how many could not be ended.
//
// It is for what a crashed process left behind; after a Run nothing is left.
func Sweep(ctx context.Context, markVar, prefix string) (int, error) {
	spared := untouchable()
	find := func(yield func(processes.Process) bool) {
		reapStrays()
		for p := range caged(func(mark uint64) bool { return cage.IsOf(mark, prefix) }) {
			if !spared[p.PID] && !yield(p) {
				return
			}
		}
		for _, p := range marked(markVar+"="+prefix, spared) {
			if !yield(p) {
				return
			}
		}
	}
	swept, left := processes.End(find, ctx.Done())
	if err := ctx.Err(); err != nil && len(left) > 0 {
		return swept, fmt.Errorf("sweep processes: %w", err)
	}
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

// marked finds the live processes that carry a mark.
func marked(entry string, spared map[int]bool) []processes.Process {
	candidates := slices.DeleteFunc(slices.Collect(processes.All()), func(pid int) bool { return spared[pid] })
	return carriers(candidates, func(env environ) bool {
		return env.some(func(e []byte) bool { return beginsWith(e, entry) })
	})
}

// beginsWith says whether an entry is mark, or mark and something after a boundary.
func beginsWith(entry []byte, mark string) bool {
	rest, ok := strings.CutPrefix(string(entry), mark)
	return ok && (rest == "" || !isWord(rest[0]))
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// collectZombie collects a dead child that is not in the family, and says whether
// there was one. The caller holds family.mu.
func collectZombie(pid int) bool {
	if family.kin[pid] != nil {
		return false
	}
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid && !status.Stopped()
}
