// Package processes knows which processes there are, and ends those that somebody has left.
package processes

import (
	"os"
	"sync"
)

// awaited are the children of this process that are waited for by the code that started them. Who ends
// orphans has nothing else to tell such a child in a process group of its own from one.
var awaited = struct {
	mu   sync.Mutex // guards pids; held while a child is started
	pids map[int]bool
}{pids: map[int]bool{}}

// Start starts a child with start, which returns it. Until Forget it is nobody's orphan.
func Start(start func() (*os.Process, error)) error {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	p, err := start()
	if err == nil {
		awaited.pids[p.Pid] = true
	}
	return err
}

// Forget is to be called when a child of Start has been waited for.
func Forget(p *os.Process) {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	delete(awaited.pids, p.Pid)
}

// IsAwaited reports whether Start has started the process. It waits for a start under way.
func IsAwaited(pid int) bool {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	return awaited.pids[pid]
}
