package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processes returns the ids of what carries the site's mark and is alive.
func (s *site) processes() []int { return s.carrying(siteVar + "=" + s.mark) }

// carrying returns the ids of what has an entry in its environment that begins
// so, and is alive and of this site.
func (s *site) carrying(entry string) []int {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.t.Fatal(err)
	}
	var found []int
	for _, path := range environs {
		// A dead process that nobody collected has no environment.
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(siteVar+"="+s.mark+"\x00")) {
			continue
		}
		for _, e := range bytes.Split(data, []byte{0}) {
			if bytes.HasPrefix(e, []byte(entry)) {
				found = append(found, pidOf(path))
				break
			}
		}
	}
	return found
}

func pidOf(path string) int {
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	if err != nil {
		panic(err)
	}
	return pid
}

// describe names processes in a failure.
func describe(pids []int) string {
	var b strings.Builder
	for _, pid := range pids {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(&b, "\n%d: %s", pid, bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
	}
	return b.String()
}

// alive says whether a process exists and has not died.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// killAll ends everything on the site at once, as a machine that goes down.
func (s *site) killAll(first ...*command) {
	for _, j := range first {
		_ = j.cmd.Process.Kill()
	}
	eventually(s.t, "the end of everything on the site", func() bool {
		pids := s.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(pids) == 0
	})
	for _, j := range first {
		<-j.done
	}
}
