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
	// atOnce bounds the calls of one cage that are decided at the same time. Further
	// callers wait, which only a process that holds up its own connects notices.
	atOnce = 128
	// glance is how often a wait looks whether it is still of use to anybody.
	glance = 100 * time.Millisecond
)

// Serve decides until no process is left that has the listener's filter, or ctx is
// done. Then it closes the listener, waits for what is being decided, and returns. Calls
// that come later fail with ENOSYS.
func Serve(ctx context.Context, listener *os.File, rules Rules) {
	defer listener.Close()
	ctx, stop := context.WithCancel(ctx)
	var deciding sync.WaitGroup
	defer deciding.Wait()
	defer stop()
	w := &warden{listener: int(listener.Fd()), rules: rules}
	slots := make(chan struct{}, atOnce)
	for ctx.Err() == nil {
		c, err := w.next()
		switch {
		case errors.Is(err, errNobodyLeft):
			return
		case err != nil: // The caller was killed, or nobody has called yet.
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		deciding.Go(func() {
			respond(w.listener, c.id, w.decide(ctx, c)) // whoever was killed needs no answer
			<-slots
		})
	}
}

// warden serves one listener.
type warden struct {
	listener int
	rules    Rules
	lock     sync.Mutex      // guards listens
	listens  map[uint64]bool // the sockets that the cage has made listen, by their cookies
}

var (
	errNobodyLeft = errors.New("no process has the filter any more")
	errNobodyYet  = errors.New("nobody calls")
)

// next waits a moment for a call.
func (w *warden) next() (call, error) {
	ready := []unix.PollFd{{Fd: int32(w.listener), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, int(glance/time.Millisecond))
	switch {
	case err != nil:
		return call{}, err
	case n == 0:
		return call{}, errNobodyYet
	case ready[0].Revents&unix.POLLIN == 0: // POLLHUP, or what can't be polled
		return call{}, errNobodyLeft
	}
	return receive(w.listener)
}

// verdict is what a caller is told.
type verdict struct {
	// goesOn lets the kernel carry out the call as if there were no filter.
	goesOn bool
	errno  unix.Errno
}

func (w *warden) decide(ctx context.Context, c call) verdict {
	switch c.number {
	case unix.SYS_CONNECT:
		return verdict{errno: w.connect(ctx, c)}
	case unix.SYS_LISTEN:
		return verdict{errno: w.listen(c)}
	case unix.SYS_SETSOCKOPT:
		return verdict{errno: w.share(c)}
	case unix.SYS_PRLIMIT64, unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETAFFINITY,
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR:
		if mayChange(c, w.rules.Mark) {
			return verdict{goesOn: true}
		}
		return verdict{errno: unix.EPERM}
	}
	return verdict{errno: unix.ENOSYS}
}

// refuse tells of a target, and returns what the caller is told.
func (w *warden) refuse(target string, errno unix.Errno) unix.Errno {
	if w.rules.OnRefused != nil {
		w.rules.OnRefused(target)
	}
	return errno
}
