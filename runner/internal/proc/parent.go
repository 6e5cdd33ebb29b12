package proc

import (
	"os"
	"sync"
	"time"
)

// watchEvery is how often what can't be waited for is looked at.
const watchEvery = time.Second

// Gone returns a channel that is closed when the process that started this one has
// ended, or when nobody reads out any more. A parent that this process can't see,
// as one outside its container, is not watched, and neither is an output of which
// the system doesn't tell.
func Gone(out *os.File) <-chan struct{} {
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	if parent := os.Getppid(); parent > 0 {
		go func() {
			for os.Getppid() == parent {
				time.Sleep(watchEvery)
			}
			end()
		}()
	}
	if out != nil && tellsReader {
		go func() {
			for hasReader(out) {
				time.Sleep(watchEvery)
			}
			end()
		}()
	}
	return gone
}
