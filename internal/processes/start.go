// Package processes reads the process table of this machine, and ends processes that are left over.
package processes

import (
	"os"
	"sync"
)

// awaited contains the children of this process for which the code that started them waits. Code that ends
// orphans uses it to distinguish these children from orphans, because children may have their own process
// groups.
var awaited = struct {
	mu   sync.Mutex // guards pids; it is locked while a child is being started
	pids map[int]bool
}{pids: map[int]bool{}}

// Start calls start, which starts a child process. The child counts as awaited until Forget.
func Start(start func() (*os.Process, error)) error {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	p, err := start()
	if err == nil {
		awaited.pids[p.Pid] = true
	}
	return err
}

// Forget removes a child that Start started from the awaited children. Call it after waiting for the child.
func Forget(p *os.Process) {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	delete(awaited.pids, p.Pid)
}

// IsAwaited reports whether a process is an awaited child. It blocks while Start is starting another child.
func IsAwaited(pid int) bool {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	return awaited.pids[pid]
}
