package proc

import (
	"os"
	"time"
)

// watchInterval is how often conditions without a notification are checked.
const watchInterval = time.Second

// WatchParent returns a channel that is closed when the process that started this one has ended, or
// when out has lost its reader. A parent that this process can't see, for example outside of its
// container, is not watched, and neither is an output whose state the system doesn't report.
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
