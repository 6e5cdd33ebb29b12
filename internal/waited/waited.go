// Package waited knows which children of this process are waited for by the code
// that started them. Package runner/internal/proc ends the orphans that agents leave,
// and nothing else tells a child in a process group of its own from an orphan.
package waited

import (
	"os"
	"sync"
)

var (
	mu    sync.Mutex // guards known; held while a child is started
	known = map[int]bool{}
)

// Start starts a child with start, which returns it. Until Forget it is nobody's orphan.
func Start(start func() (*os.Process, error)) error {
	mu.Lock()
	defer mu.Unlock()
	p, err := start()
	if err == nil {
		known[p.Pid] = true
	}
	return err
}

// Forget is to be called when a child of Start has been waited for.
func Forget(p *os.Process) {
	mu.Lock()
	defer mu.Unlock()
	delete(known, p.Pid)
}

// Has reports whether Start has started the process. It waits for a start under way.
func Has(pid int) bool {
	mu.Lock()
	defer mu.Unlock()
	return known[pid]
}
