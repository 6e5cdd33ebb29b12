package proc

import (
	"os"
	"time"
)

// watchInterval is how often WatchParent checks the parent and the output, for which there are no
// notifications.
const watchInterval = time.Second

// WatchParent returns a channel that is closed when the parent of this process has ended, or when no process
// reads from the output any more. It doesn't watch a parent that this process can't see, for example because
// the parent is outside of the container. It also ignores an output whose state the system doesn't report.
func WatchParent(out *os.File) <-chan struct{} {
	gone, parent := make(chan struct{}), os.Getppid()
	go func() {
		defer close(gone)
		for (parent <= 0 || os.Getppid() == parent) && hasReader(out) {
			time.Sleep(watchInterval)
		}
	}()
	return gone
}
