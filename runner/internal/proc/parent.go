package proc

import (
	"os"
	"time"
)

// watchEvery is how often what can't be waited for is looked at.
const watchEvery = time.Second

// WatchParent returns a channel that is closed when the process that started this one has
// ended, or when nobody reads out any more. A parent that this process can't see,
// as one outside its container, is not watched, and neither is an output of which
// the system doesn't tell.
func WatchParent(out *os.File) <-chan struct{} {
	gone, parent := make(chan struct{}), os.Getppid()
	go func() {
		defer close(gone)
		for (parent <= 0 || os.Getppid() == parent) && hasReader(out) {
			time.Sleep(watchEvery)
		}
	}()
	return gone
}
