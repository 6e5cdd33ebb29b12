package warden

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// connect decides about a connect call. If the call is allowed, it connects the caller's socket itself.
// It returns the errno for the caller.
func (w *warden) connect(ctx context.Context, c call) unix.Errno {
	address, err := c.read(c.args[1], int(int32(c.args[2])))
	if err != nil {
		return errnoOf(err)
	}
	s, err := c.socket()
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(s.fd)
	var errno unix.Errno
	switch s.domain {
	case unix.AF_UNIX:
		var target int
		if target, errno = w.unixTarget(c, s, address); errno == 0 {
			defer unix.Close(target)
			address = fmt.Appendf(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), "/proc/self/fd/%d\x00", target)
		}
	case unix.AF_INET, unix.AF_INET6:
		address, errno = w.ipTarget(s, address)
	default:
		errno = unix.EACCES
	}
	switch {
	case errno != 0:
		return errno
	case !c.isValid(w.listener):
		return unix.EINTR // the caller was killed and gets no result
	}
	return w.dial(ctx, c, s.fd, address)
}

// dial connects a socket for the caller and returns the errno. If the socket is blocking, the connection may
// take any time, but dial returns soon after the caller was killed.
func (w *warden) dial(ctx context.Context, c call, fd int, address []byte) unix.Errno {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	isDone := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(isDone)
	watch.Go(func() { w.interruptIfAbandoned(ctx, c, blocked{fd: fd, thread: thread, isDone: isDone}) })
	errno := connectTo(fd, address)
	for errno == unix.EINTR { // a signal to this process must not interrupt the caller's connect
		errno = connectTo(fd, address)
		if errno == unix.EALREADY {
			errno = unix.EINPROGRESS
		}
	}
	return errno
}

// blocked is a connect call that a thread of this process is executing.
type blocked struct {
	fd, thread int
	isDone     chan struct{}
}

// interruptIfAbandoned interrupts a connect when its caller or its cage no longer exists. It repeats
// that until the connect has returned, because other processes may share the socket and make it blocking
// again.
func (w *warden) interruptIfAbandoned(ctx context.Context, c call, b blocked) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-b.isDone:
			return
		case <-ticker.C:
		}
		if ctx.Err() != nil || !c.isValid(w.listener) {
			b.interrupt()
		}
	}
}

// interrupt makes the socket non-blocking and interrupts the connect with a signal. dial then calls connect
// again, which returns immediately.
func (b blocked) interrupt() {
	flags, err := unix.FcntlInt(uintptr(b.fd), unix.F_GETFL, 0)
	if err != nil || unix.SetNonblock(b.fd, true) != nil {
		return
	}
	_ = unix.Tgkill(os.Getpid(), b.thread, unix.SIGURG) // the Go runtime handles SIGURG, so it does no harm
	select {
	case <-b.isDone:
	case <-time.After(pollInterval):
	}
	// Restore the flags, because other processes may share the socket.
	_, _ = unix.FcntlInt(uintptr(b.fd), unix.F_SETFL, flags)
}
