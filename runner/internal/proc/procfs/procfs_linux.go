package procfs

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// Process is what /proc/PID/stat says of a process.
type Process struct {
	PID, Parent, Group int
	Dying              bool   // or dead, but not collected
	Kernel             bool   // a thread of the kernel
	Born               uint64 // clock ticks after the boot; with PID it names one process for good
}

// Flags of a process, as the kernel has them in its sched.h.
const (
	exiting      = 0x4      // PF_EXITING: on its way out, without an environment
	kernelThread = 0x200000 // PF_KTHREAD
)

// Read reads a small file of /proc. It makes one buffer and no os.File: it is
// called once for every child, and for every process of the machine in a sweep.
func Read(path string, size int) ([]byte, error) {
	fd, err := open(path)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	buf := make([]byte, 0, size)
	for {
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return buf, err
		}
		buf = buf[:len(buf)+n]
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return fd, err
		}
	}
}

// Stat looks at one process.
func Stat(pid int) (Process, bool) {
	data, err := Read("/proc/"+strconv.Itoa(pid)+"/stat", 512)
	// The name is in brackets and may itself contain brackets and blanks.
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
	p.Dying = f[0] == "Z" || f[0] == "X" || flags&exiting != 0
	p.Parent, _ = strconv.Atoi(f[1])
	p.Group, _ = strconv.Atoi(f[2])
	p.Born, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// Below returns the live processes that descend from one, without that one.
func Below(pid int) []Process {
	children := map[int][]Process{}
	for _, p := range All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Process
	for next := children[pid]; len(next) > 0; next = next[1:] {
		if p := next[0]; !p.Dying {
			found = append(found, p)
		}
		next = append(next, children[next[0].PID]...)
	}
	return found
}

// CommandLine is what a process was started with, or the name of its program. The
// process itself may have changed both.
func CommandLine(pid int) string {
	if line := strings.Join(Arguments(pid), " "); line != "" {
		return line
	}
	name, _ := Read("/proc/"+strconv.Itoa(pid)+"/comm", 64)
	return strings.TrimSpace(string(name))
}

// Arguments are what a process was started with, as far as it has not changed them.
func Arguments(pid int) []string {
	line, _ := Read("/proc/"+strconv.Itoa(pid)+"/cmdline", 512)
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// All looks at all processes. It is not taken at one instant.
func All() map[int]Process {
	all := map[int]Process{}
	for _, pid := range IDs() {
		if p, ok := Stat(pid); ok {
			all[pid] = p
		}
	}
	return all
}

// Children returns the ids of the children of this process that its first thread
// has. That is where the kernel puts orphans; the children that other threads
// have forked are not among them.
func Children() []int {
	self := strconv.Itoa(syscall.Getpid())
	data, err := Read("/proc/self/task/"+self+"/children", 512)
	if err != nil {
		return childrenByStat() // a kernel without the list
	}
	var found []int
	for _, field := range bytes.Fields(data) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func childrenByStat() []int {
	var found []int
	for pid, p := range All() {
		if p.Parent == syscall.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// IDs returns the ids of all processes.
func IDs() []int {
	fd, err := open("/proc")
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			break
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names)
	}
	return numbers(names)
}

// numbers returns those names that are numbers.
func numbers(names []string) []int {
	var found []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			found = append(found, pid)
		}
	}
	return found
}
