package proc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lastMax is when EndAll gives up.
const lastMax = 10 * time.Second

// EndAll ends everything that descends from this process, whatever its group, session,
// environment or parent, and returns what it could not end, for people: "12 (sleep 300)".
// It is for the end of a program that has called Adopt, and must not be called while
// anything of it starts or awaits a child.
func EndAll() []string { return endDescendants(syscall.Kill, lastMax) }

// endDescendants is EndAll with another way to send signals.
func endDescendants(kill func(pid int, sig syscall.Signal) error, patience time.Duration) []string {
	refused := map[int]bool{}
	signal := func(pid int, sig syscall.Signal) {
		if errors.Is(kill(pid, sig), syscall.EPERM) {
			refused[pid] = true
		}
	}
	// Orphans come here one moment later, so a single look that finds nothing proves nothing.
	for began, quiet := time.Now(), 0; quiet < 2; {
		live := descendants()
		left := slices.DeleteFunc(slices.Clone(live), func(pid int) bool { return refused[pid] })
		if len(left) == 0 {
			quiet++
			continue
		}
		quiet = 0
		if time.Since(began) > patience {
			return named(live)
		}
		for _, pid := range stopAll(signal) {
			signal(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	return named(slices.Sorted(maps.Keys(refused)))
}

// maxStops is how many times the descendants are looked at before those that are known
// are killed.
const maxStops = 100

// stopAll stops the descendants until no new one comes to light, and returns them. What
// starts others faster than it can be killed ends so: the stopped start nothing, and keep
// their places among the processes that the user may have.
func stopAll(signal func(int, syscall.Signal)) []int {
	stopped := map[int]bool{}
	for range maxStops {
		before := len(stopped)
		for _, pid := range descendants() {
			if !stopped[pid] {
				stopped[pid] = true
				signal(pid, syscall.SIGSTOP)
			}
		}
		if len(stopped) == before {
			break
		}
	}
	return slices.Collect(maps.Keys(stopped))
}

// descendants returns the processes that descend from this one and live.
func descendants() []int {
	var live []int
	for next := []int{syscall.Getpid()}; len(next) > 0; {
		var found []int
		for _, pid := range next {
			for _, child := range childrenOf(pid) {
				if p, ok := readStat(child); ok && p.dead {
					continue // it has neither children nor a future
				}
				found = append(found, child)
			}
		}
		live = append(live, found...)
		next = found
	}
	return live
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	var found []int
	for thread := range numbersIn(dir) {
		data, err := readProc(dir+"/"+strconv.Itoa(thread)+"/children", 512)
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
	_, ok := readStat(pid)
	return ok
}

// named says which processes these are.
func named(pids []int) (names []string) {
	for _, pid := range pids {
		p, ok := readStat(pid)
		if ok && p.dead {
			continue
		}
		line, _ := readProc("/proc/"+strconv.Itoa(pid)+"/cmdline", 512)
		if err := syscall.Kill(pid, 0); !ok && errors.Is(err, syscall.ESRCH) {
			continue // it is gone by now
		}
		words := strings.TrimSpace(strings.ReplaceAll(string(line[:min(len(line), maxName)]), "\x00", " "))
		names = append(names, fmt.Sprintf("%d (%s)", pid, words))
	}
	return names
}

// maxName is how many bytes of a command line are told.
const maxName = 100
