package warden

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxConcurrent limits how many calls of one cage are decided at the same time. Further callers wait. In
	// practice, this affects only a cage in which many connect calls to servers in the same cage block.
	maxConcurrent = 128
	// pollInterval is how often the warden checks whether a blocked caller and its cage still exist.
	pollInterval = 100 * time.Millisecond
)

// Serve receives calls from the listener and responds to them. It ends when ctx is done or when no
// process has the listener's filter any more. Then it closes the listener, waits for pending decisions,
// and returns. Calls after that fail with ENOSYS.
func Serve(ctx context.Context, listener *os.File, rules Rules) {
	defer listener.Close()
	ctx, stop := context.WithCancel(ctx)
	var deciding sync.WaitGroup
	defer deciding.Wait()
	defer stop()
	w := &warden{listener: int(listener.Fd()), rules: rules}
	slots := make(chan struct{}, maxConcurrent)
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(pollInterval/time.Millisecond))
		switch {
		case err != nil || n == 0: // a signal interrupted the wait, or no call arrived in time
			continue
		case ready[0].Revents&unix.POLLIN == 0: // POLLHUP, or another event that means that the listener can't be used
			return
		}
		c, err := receive(w.listener)
		if err != nil { // the caller was killed
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		deciding.Go(func() {
			respond(w.listener, c.id, w.decide(ctx, c)) // has no effect if the caller was killed
			<-slots
		})
	}
}

// warden decides about the calls from one listener.
type warden struct {
	listener  int
	rules     Rules
	lock      sync.Mutex      // guards listening
	listening map[uint64]bool // cookies of the sockets on which processes in the cage listen
}

// verdict is the warden's response to a call.
type verdict struct {
	// isAllowed makes the kernel execute the call. It is used only for calls about which numeric arguments
	// decide, because other threads of the caller can't change these any more.
	isAllowed bool
	// errno is the call's result if isAllowed is false. 0 means that the warden has executed the call.
	errno unix.Errno
}

// decide decides about a call. It executes connect, listen and setsockopt calls itself if they are allowed.
func (w *warden) decide(ctx context.Context, c call) verdict {
	switch c.number {
	case unix.SYS_CONNECT:
		return verdict{errno: w.connect(ctx, c)}
	case unix.SYS_LISTEN:
		return verdict{errno: w.listen(c)}
	case unix.SYS_SETSOCKOPT:
		return verdict{errno: w.setReuse(c)}
	case unix.SYS_PRLIMIT64, unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETAFFINITY,
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR:
		if mayChange(c, w.rules.Mark) {
			return verdict{isAllowed: true}
		}
		return verdict{errno: unix.EPERM}
	}
	return verdict{errno: unix.ENOSYS}
}

// refuse reports a denied target to OnRefused and returns the errno for the caller.
func (w *warden) refuse(target string, errno unix.Errno) unix.Errno {
	if w.rules.OnRefused != nil {
		w.rules.OnRefused(target)
	}
	return errno
}
