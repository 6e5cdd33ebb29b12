package warden

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxConcurrent bounds the calls of one cage that are decided at the same time. Further callers wait.
	// Only a cage that blocks many connects to itself notices this.
	maxConcurrent = 128
	// pollInterval is how often a blocked operation checks whether its caller and its cage still exist.
	pollInterval = 100 * time.Millisecond
)

// Serve decides about the calls that the listener receives, until no process has the listener's filter
// any more or ctx is done. Then it closes the listener, waits for pending decisions, and returns. Later
// calls fail with ENOSYS.
func Serve(ctx context.Context, listener *os.File, rules Rules) {
	defer listener.Close()
	ctx, stop := context.WithCancel(ctx)
	var deciding sync.WaitGroup
	defer deciding.Wait()
	defer stop()
	w := &warden{listener: int(listener.Fd()), rules: rules}
	slots := make(chan struct{}, maxConcurrent)
	for ctx.Err() == nil {
		c, err := w.next()
		switch {
		case errors.Is(err, errNoProcess):
			return
		case err != nil: // the caller was killed, or no call came in time
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

// warden decides about the calls of one listener.
type warden struct {
	listener  int
	rules     Rules
	lock      sync.Mutex      // guards listening
	listening map[uint64]bool // cookies of the sockets with which processes of the cage listen
}

var (
	errNoProcess = errors.New("no process has the filter any more")
	errNoCall    = errors.New("no call is pending")
)

// next waits for a call, for at most pollInterval.
func (w *warden) next() (call, error) {
	ready := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, int(pollInterval/time.Millisecond))
	switch {
	case err != nil:
		return call{}, err
	case n == 0:
		return call{}, errNoCall
	case ready[0].Revents&unix.POLLIN == 0: // POLLHUP, or the listener can't be polled
		return call{}, errNoProcess
	}
	return receive(w.listener)
}

// verdict is the response to a call.
type verdict struct {
	// isAllowed lets the kernel execute the call. It is used only for calls that are decided by their
	// numeric arguments, which other threads of the caller can't change any more.
	isAllowed bool
	errno     unix.Errno
}

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

// refuse reports a refused target and returns the errno for the caller.
func (w *warden) refuse(target string, errno unix.Errno) unix.Errno {
	if w.rules.OnRefused != nil {
		w.rules.OnRefused(target)
	}
	return errno
}
