package store

import (
	"os"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/processes"
)

// ThisProcess returns data that identifies this process, even among earlier processes with the same
// id. Its Machine is "" if other processes could not check whether it is running.
func ThisProcess() slots.Process {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return slots.Process{}
	}
	names, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return slots.Process{}
	}
	return slots.Process{Machine: strings.TrimSpace(string(boot)) + " " + names, PID: os.Getpid(), Started: startOf(os.Getpid())}
}

// startOf returns when a process was started, in clock ticks since the machine was started, or ""
// if the process has ended.
func startOf(pid int) string {
	p, ok := processes.Stat(pid)
	if !ok || p.Dead {
		return ""
	}
	return strconv.FormatUint(p.StartTime, 10)
}
