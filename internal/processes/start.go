// Package processes reads the process table of this machine and ends processes that are left over.
package processes

import (
	"os"
	"sync"
)

// awaited has the children of this process that the code which started them waits for. Code that ends
// orphans can't otherwise distinguish them from orphans, if they have their own process group.
var awaited = struct {
	mu   sync.Mutex // guards pids; locked while a child is started
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

// Forget must be called after a child that Start started has been waited for.
func Forget(p *os.Process) {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	delete(awaited.pids, p.Pid)
}

// IsAwaited reports whether Start started the process. It blocks while another Start is running.
func IsAwaited(pid int) bool {
	awaited.mu.Lock()
	defer awaited.mu.Unlock()
	return awaited.pids[pid]
}
