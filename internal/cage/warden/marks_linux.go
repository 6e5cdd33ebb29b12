package warden

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/processes"
)

// carries reports whether a process or thread belongs to the cage with this mark.
func carries(process int, mark uint64) bool {
	var limit unix.Rlimit
	err := unix.Prlimit(process, unix.RLIMIT_RTTIME, nil, &limit)
	return err == nil && limit.Cur == mark && limit.Max == mark
}

// holders finds the processes of a cage that hold sockets. It remembers where it found
// a socket, since a server is connected to often; what it remembers is checked.
type holders struct {
	mark uint64
	lock sync.Mutex
	// seen are places in /proc by the sockets there.
	seen map[string]place
}

// place is a descriptor of a process.
type place struct {
	process int
	path    string
}

// mostSeen bounds what is remembered.
const mostSeen = 64

// haveAll reports whether processes of the cage hold all of these sockets.
func (h *holders) haveAll(sockets map[string]bool) bool {
	for socket := range sockets {
		if h.isStillThere(socket) {
			delete(sockets, socket)
		}
	}
	if len(sockets) == 0 {
		return true
	}
	for process := range processes.All() {
		if !carries(process, h.mark) {
			continue
		}
		if h.dropHeld(sockets, process); len(sockets) == 0 {
			return true
		}
	}
	return false
}

func (h *holders) isStillThere(socket string) bool {
	h.lock.Lock()
	at, ok := h.seen[socket]
	h.lock.Unlock()
	if !ok || !carries(at.process, h.mark) {
		return false
	}
	target, err := os.Readlink(at.path)
	return err == nil && target == socket
}

// dropHeld removes the sockets that a process holds.
func (h *holders) dropHeld(sockets map[string]bool, process int) {
	path := fmt.Sprintf("/proc/%d/fd/", process)
	folder, err := os.Open(path)
	if err != nil {
		return // It has ended.
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		target, err := os.Readlink(path + name)
		if err == nil && sockets[target] {
			delete(sockets, target)
			h.remember(target, place{process: process, path: path + name})
		}
	}
}

func (h *holders) remember(socket string, at place) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.seen == nil || len(h.seen) >= mostSeen {
		h.seen = map[string]place{}
	}
	h.seen[socket] = at
}

// mayChange reports whether the process that a call wants to change, by its limits,
// priority or scheduling, is one of the cage. Reading limits is always allowed.
func mayChange(c call, mark uint64) bool {
	target := int(int32(c.args[0]))
	switch c.number {
	case unix.SYS_PRLIMIT64:
		switch isReading := c.args[2] == 0; {
		case isReading:
			return true
		case int32(c.args[1]) == unix.RLIMIT_RTTIME:
			return false // the mark itself
		}
	case unix.SYS_SETPRIORITY:
		if which := int32(c.args[0]); which != unix.PRIO_PROCESS {
			return which == unix.PRIO_PGRP && int32(c.args[1]) == 0
		}
		target = int(int32(c.args[1]))
	}
	return target == 0 || target > 0 && carries(target, mark)
}
