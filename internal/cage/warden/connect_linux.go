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

// connect decides about a connect, carries it out if it is allowed, and returns its
// errno.
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
		return unix.EINTR // Nobody hears it.
	}
	return w.dial(ctx, c, s.fd, address)
}

// dial connects a socket. If it is a blocking one, this takes as long as it takes,
// but ends soon after the caller was killed.
func (w *warden) dial(ctx context.Context, c call, fd int, address []byte) unix.Errno {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	isDone := make(chan struct{})
	var watch sync.WaitGroup
	defer watch.Wait()
	defer close(isDone)
	watch.Go(func() { w.giveUp(ctx, c, blocked{fd: fd, thread: thread, isDone: isDone}) })
	errno := connectTo(fd, address)
	for errno == unix.EINTR { // A signal to this process is no concern of the caller.
		errno = connectTo(fd, address)
		if errno == unix.EALREADY {
			errno = unix.EINPROGRESS
		}
	}
	return errno
}

// blocked is a connect in a thread of ours.
type blocked struct {
	fd, thread int
	isDone     chan struct{}
}

// giveUp ends a connect that nobody waits for any more. It tries until that worked,
// since others may have the socket, too, and set its flags.
func (w *warden) giveUp(ctx context.Context, c call, b blocked) {
	ticker := time.NewTicker(glance)
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

// interrupt makes the call begin again, and then wait for nothing.
func (b blocked) interrupt() {
	flags, err := unix.FcntlInt(uintptr(b.fd), unix.F_GETFL, 0)
	if err != nil || unix.SetNonblock(b.fd, true) != nil {
		return
	}
	_ = unix.Tgkill(os.Getpid(), b.thread, unix.SIGURG) // Go uses it for its own ends, too.
	select {
	case <-b.isDone:
	case <-time.After(glance):
	}
	_, _ = unix.FcntlInt(uintptr(b.fd), unix.F_SETFL, flags) // Others may have the socket, too.
}
