package proc

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

// process is what /proc/PID/stat says of a process.
type process struct {
	pid, ppid, pgrp int
	session         int
	dying           bool   // or dead, but not collected
	dead            bool   // and not collected: no thread of it is left
	kernel          bool   // a thread of the kernel
	born            uint64 // clock ticks after the boot; with pid it names one process for good
	grouped         bool   // whoever shares its group is to be ended as well; readStat doesn't know
}

// Flags of a process, as the kernel has them in its sched.h.
const (
	exiting      = 0x4      // PF_EXITING: on its way out, without an environment
	kernelThread = 0x200000 // PF_KTHREAD
)

// readProc reads a small file of /proc. It makes one buffer and no os.File: it is
// called once for every child, and for every process of the machine in a sweep.
func readProc(path string, size int) ([]byte, error) {
	fd, err := openProc(path)
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

func openProc(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return fd, err
		}
	}
}

// readStat looks at one process.
func readStat(pid int) (process, bool) {
	data, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", 512)
	// The name is in brackets and may itself contain brackets and blanks.
	end := bytes.LastIndexByte(data, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 20 {
		return process{}, false
	}
	flags, _ := strconv.ParseUint(f[6], 10, 64)
	p := process{pid: pid, kernel: flags&kernelThread != 0}
	// What is said is of the first thread, and others may go on without it.
	alone := f[17] == "0" || f[17] == "1"
	p.dead = alone && (f[0] == "Z" || f[0] == "X")
	p.dying = p.dead || alone && flags&exiting != 0
	p.ppid, _ = strconv.Atoi(f[1])
	p.pgrp, _ = strconv.Atoi(f[2])
	p.session, _ = strconv.Atoi(f[3])
	p.born, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// snapshot looks at all processes. It is not taken at one instant.
func snapshot() map[int]process {
	all := map[int]process{}
	for pid := range processes() {
		if p, ok := readStat(pid); ok {
			all[pid] = p
		}
	}
	return all
}

// children returns the ids of the children of this process that its first thread
// has. That is where the kernel puts orphans; the children that other threads
// have forked are not among them.
func children() []int {
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
	return openProc("/proc/self/task/" + strconv.Itoa(syscall.Getpid()) + "/children")
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
		if p.ppid == parent {
			found = append(found, pid)
		}
	}
	return found
}

// processes yields the ids of all processes. It asks the kernel for a few at a time, so
// that each exists when it is yielded, or did a moment ago.
func processes() iter.Seq[int] { return numbersIn("/proc") }

// numbersIn yields the names of a folder that are numbers.
func numbersIn(dir string) iter.Seq[int] {
	return func(yield func(int) bool) {
		fd, err := openProc(dir)
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
