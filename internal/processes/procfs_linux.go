package processes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Process is the state of a process, as /proc/PID/stat reports it.
type Process struct {
	PID, Parent, Group int
	Dying              bool   // it is exiting, or Dead
	Dead               bool   // it is a zombie: all threads have ended, but its parent has not collected it
	Kernel             bool   // a kernel thread
	StartTime          uint64 // in clock ticks since boot; PID and StartTime together identify a process
}

// Flags of a process, from the kernel's sched.h.
const (
	exiting      = 0x4      // PF_EXITING: the process is exiting, and its environment can no longer be read
	kernelThread = 0x200000 // PF_KTHREAD: the process is a kernel thread
)

// Stat reads the state of a process. It returns false if the process doesn't exist or can't be read.
func Stat(pid int) (Process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The process's name is in parentheses. It may itself contain parentheses and spaces.
	end := bytes.LastIndexByte(data, ')')
	if err != nil || end < 0 {
		return Process{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 20 {
		return Process{}, false
	}
	flags, _ := strconv.ParseUint(f[6], 10, 64)
	p := Process{PID: pid, Kernel: flags&kernelThread != 0}
	// The state and the flags describe the first thread. Other threads may still run when the first thread
	// has ended.
	alone := f[17] == "0" || f[17] == "1"
	p.Dead = alone && (f[0] == "Z" || f[0] == "X")
	p.Dying = p.Dead || alone && flags&exiting != 0
	p.Parent, _ = strconv.Atoi(f[1])
	p.Group, _ = strconv.Atoi(f[2])
	p.StartTime, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// Ancestors returns the PIDs of this process's parent, of that process's parent and so on. It returns at
// most 63.
func Ancestors() (found []int) {
	for pid := os.Getppid(); pid > 0 && len(found) < 63; {
		found = append(found, pid)
		p, _ := Stat(pid)
		pid = p.Parent
	}
	return found
}

// IsDead reports whether a process has ended, even if its parent has not collected it yet.
func IsDead(pid int) bool {
	p, ok := Stat(pid)
	if !ok { // /proc may not show processes of other users
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return p.Dead
}

// Children returns the PIDs of the children of this process's first thread. They include orphans, which the
// kernel makes children of that thread. Children that other threads started are not included.
func Children() []int {
	found, err := childrenOf(os.Getpid(), os.Getpid())
	if err != nil {
		return childrenByParent(os.Getpid()) // this kernel doesn't list the children of a thread
	}
	return found
}

// ChildrenOf returns the PIDs of the children of all threads of a process.
func ChildrenOf(pid int) []int {
	var found []int
	for thread := range numbersIn(fmt.Sprintf("/proc/%d/task", pid)) {
		children, err := childrenOf(pid, thread)
		if errors.Is(err, fs.ErrNotExist) {
			if _, isAlive := Stat(thread); isAlive {
				return childrenByParent(pid) // this kernel doesn't list the children of a thread
			}
		}
		found = append(found, children...)
	}
	return found
}

// childrenOf returns the PIDs of the children of one thread.
func childrenOf(pid, thread int) (found []int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, thread))
	for _, field := range strings.Fields(string(data)) {
		if child, err := strconv.Atoi(field); err == nil {
			found = append(found, child)
		}
	}
	return found, err
}

// childrenByParent returns the PIDs of the children of a process. It reads the states of all processes.
func childrenByParent(parent int) []int {
	var found []int
	for pid := range All() {
		if p, ok := Stat(pid); ok && p.Parent == parent {
			found = append(found, pid)
		}
	}
	return found
}

// All yields the PIDs of all processes. It reads a few PIDs at a time from the kernel, so a process whose
// PID it yields exists or has ended only a moment ago.
func All() iter.Seq[int] { return numbersIn("/proc") }

// numbersIn yields the numbers among the names of the entries in a directory.
func numbersIn(dir string) iter.Seq[int] {
	return func(yield func(int) bool) {
		f, err := os.Open(dir)
		if err != nil {
			return
		}
		defer f.Close()
		for {
			names, err := f.Readdirnames(100)
			for _, name := range names {
				if id, err := strconv.Atoi(name); err == nil && !yield(id) {
					return
				}
			}
			if err != nil {
				return // the end of the directory, or an error
			}
		}
	}
}
