package sitetest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/internal/processes"
	"gotest.tools/v3/assert"
)

// Processes returns the ids of all living processes that have the site's mark in their environment.
func (s *Site) Processes() []int {
	entries, err := os.ReadDir("/proc") // filepath.Glob would also read the folder of each process
	assert.NilError(s.T, err)
	mark := []byte(SiteVar + "=" + s.Mark + "\x00")
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not the folder of a process
		}
		// A zombie has no environment.
		if data, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && bytes.Contains(data, mark) {
			found = append(found, pid)
		}
	}
	return found
}

// Describe formats processes and their command lines for a failure message.
func Describe(pids []int) string {
	var b strings.Builder
	for _, pid := range pids {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(&b, "\n%d: %s", pid, bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
	}
	return b.String()
}

// Alive reports whether a process exists and is not a zombie.
func Alive(pid int) bool {
	p, ok := processes.Stat(pid)
	return ok && !p.Dead
}

// KillAll kills the given commands and then all other processes of the site, as if the machine lost power.
// It returns when no process is left.
func (s *Site) KillAll(first ...*Command) {
	for _, j := range first {
		_ = j.Cmd.Process.Kill()
	}
	Eventually(s.T, "the end of everything on the site", func() bool {
		pids := s.Processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	})
	for _, j := range first {
		<-j.Done
	}
}
