package processes

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is what /proc/PID/stat says of a process.
type Process struct {
	PID, Parent, Group int
	Dying              bool   // or dead, but not collected
	Dead               bool   // and not collected: no thread of it is left
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
	// What is said is of the first thread, and others may go on without it.
	alone := f[17] == "0" || f[17] == "1"
	p.Dead = alone && (f[0] == "Z" || f[0] == "X")
	p.Dying = p.Dead || alone && flags&exiting != 0
	p.Parent, _ = strconv.Atoi(f[1])
	p.Group, _ = strconv.Atoi(f[2])
	p.Born, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// snapshot looks at all processes. It is not taken at one instant.
func snapshot() map[int]Process {
	all := map[int]Process{}
	for pid := range All() {
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
	data, err := readChildren()
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

// childrenList is the list of children, kept open: every child that ends has it read.
var childrenList = sync.OnceValues(func() (int, error) {
	return open("/proc/self/task/" + strconv.Itoa(syscall.Getpid()) + "/children")
})

func readChildren() ([]byte, error) {
	fd, err := childrenList()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 0, 512)
	for {
		n, err := syscall.Pread(fd, buf[len(buf):cap(buf)], int64(len(buf)))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return buf, err
		}
		buf = slices.Grow(buf[:len(buf)+n], 512)
	}
}

func childrenByStat() []int { return childrenByParent(syscall.Getpid()) }

func childrenByParent(parent int) []int {
	var found []int
	for pid, p := range snapshot() {
		if p.Parent == parent {
			found = append(found, pid)
		}
	}
	return found
}

// All yields the ids of all processes. It asks the kernel for a few at a time, so
// that each exists when it is yielded, or did a moment ago.
func All() iter.Seq[int] { return numbersIn("/proc") }

// numbersIn yields the names of a folder that are numbers.
func numbersIn(dir string) iter.Seq[int] {
	return func(yield func(int) bool) {
		fd, err := open(dir)
		if err != nil {
			return
		}
		defer syscall.Close(fd)
		buf := make([]byte, 4<<10)
		for {
			n, err := unix.ReadDirent(fd, buf)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				if id, err := strconv.Atoi(name); err == nil && !yield(id) {
					return
				}
			}
		}
	}
}

// ChildrenOf returns the children of all threads of a process.
func ChildrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	var found []int
	for thread := range numbersIn(dir) {
		data, err := Read(dir+"/"+strconv.Itoa(thread)+"/children", 512)
		if errors.Is(err, syscall.ENOENT) && isAlive(thread) {
			return childrenByParent(pid) // a kernel without the list
		}
		for _, field := range bytes.Fields(data) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

func isAlive(pid int) bool {
	_, ok := Stat(pid)
	return ok
}
