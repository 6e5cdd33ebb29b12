//go:build linux && world

package acttest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// dieWithTest ends act when the test program ends without having ended it.
func dieWithTest(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// parents returns, for each process that is alive, that of which it is a child.
func parents() map[int]int {
	all := map[int]int{}
	entries, _ := os.ReadDir("/proc") // Glob would list the folder of each process, too
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // no process
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may have any characters.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		all[pid], _ = strconv.Atoi(fields[1])
	}
	return all
}

// processes returns the ids of what runs on the machine: what has its folder in
// its environment, act among it, and what descends from that. A process that
// doesn't let itself be looked at is known by its descent alone.
func (m *machine) processes() []int {
	parent := parents()
	found := map[int]bool{}
	for pid := range parent {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		found[pid] = bytes.Contains(data, []byte(m.root))
	}
	for grown := true; grown; {
		grown = false
		for pid, above := range parent {
			if !found[pid] && found[above] {
				found[pid], grown = true, true
			}
		}
	}
	var pids []int
	for pid, is := range found {
		if is {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// children returns the ids of the live children of a process.
func (*machine) children(of int) []int {
	var pids []int
	for pid, above := range parents() {
		if above == of {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends what runs on the machine, and what that starts meanwhile.
func (m *machine) kill() {
	for {
		pids := m.processes()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
	}
}
