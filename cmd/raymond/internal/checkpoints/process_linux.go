package checkpoints

import (
	"fmt"
	"os"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
)

// ThisProcess tells this process from all others, earlier ones with its id included.
// Its Machine is "" where others could not tell whether it is running.
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

// startOf is when a process was started, in ticks since the machine was; "" for one
// that has ended.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
