package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// One goroutine serves a child: it reads and writes the pipes and waits for the exit in
// one call of poll. Goroutines of their own for each of these would hand over from
// thread to thread several times for every child.

// end is one end of a pipe, or another open file; none is the end of nothing.
type end int

const none end = -1

// endOf returns a file as a child inherits it. The file must stay open until the start.
func endOf(f *os.File) end { return end(f.Fd()) }

// close closes an end, once.
func (e *end) close() {
	if *e != none {
		_ = unix.Close(int(*e))
		*e = none
	}
}

// null is the null device, which all children without Options.Stdin share.
var null = sync.OnceValues(func() (end, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return end(fd), os.NewSyscallError("open "+os.DevNull, err)
})

// plumbing is the set of files that a child is started with.
type plumbing struct {
	theirs       [3]end // stdin, stdout, stderr of the child
	in, out, err end    // our ends; in is none without Options.Stdin
	shared       bool   // theirs[0] is null
	bell         bell   // ends the waiting for the child
}

// openPipes opens the pipes of a child. Our ends never block.
func openPipes(s Options) (plumbing, error) {
	p := plumbing{theirs: [3]end{none, none, none}, in: none, out: none, err: none, bell: bell{none}, shared: len(s.Stdin) == 0}
	var fault error
	p.bell, fault = takeBell()
	if fault == nil && p.shared {
		p.theirs[0], fault = null()
	} else if fault == nil {
		fault = pipe(&p.theirs[0], &p.in, &p.in)
	}
	if fault == nil {
		fault = pipe(&p.out, &p.theirs[1], &p.out)
	}
	if fault == nil && s.MergeStderr {
		p.theirs[2] = p.theirs[1]
	} else if fault == nil {
		fault = pipe(&p.err, &p.theirs[2], &p.err)
	}
	if fault != nil {
		p.closeTheirs()
		p.closeOurs()
	}
	return p, fault
}

// pipe opens a pipe. The end that is ours does not block.
func pipe(from, to, ours *end) error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	*from, *to = end(fds[0]), end(fds[1])
	return os.NewSyscallError("fcntl", unix.SetNonblock(int(*ours), true))
}

// closeTheirs closes the ends of the child.
func (p *plumbing) closeTheirs() {
	if !p.shared {
		p.theirs[0].close()
	}
	if p.theirs[2] != p.theirs[1] {
		p.theirs[2].close()
	}
	p.theirs[1].close()
}

// closeOurs closes our ends, of a child that did not start.
func (p *plumbing) closeOurs() {
	p.in.close()
	p.out.close()
	p.err.close()
	p.bell.giveBack()
}

// pipes are our ends of the pipes of a child.
type pipes struct {
	in       end
	text     []byte // what is still to be written to in
	out, err stream
	bell     bell
	buf      *[chunk]byte // nil until something was read
}

// stream is a pipe that a child writes into, and who gets what it writes.
type stream struct {
	r      end       // none once the pipe has ended
	w      io.Writer // nil: drop what comes
	failed bool      // the writer refused
}

// attach makes the ends ours those of the child, and writes what it can.
func (c *child) attach(p plumbing) {
	c.pipes = pipes{
		in: p.in, text: c.options.Stdin, bell: p.bell,
		out: stream{r: p.out, w: c.options.Stdout},
		err: stream{r: p.err, w: &stderrSink{tail: &c.tail, w: c.options.Stderr}},
	}
	c.pipes.feed()
}

// feed writes as much of the text as the child's stdin holds. A child that stops
// reading has read what it wanted.
func (p *pipes) feed() {
	for p.in != none && len(p.text) > 0 {
		n, err := unix.Write(int(p.in), p.text)
		switch {
		case n > 0:
			p.text = p.text[n:]
		case errors.Is(err, unix.EAGAIN):
			return
		case !errors.Is(err, unix.EINTR):
			p.text = nil
		}
	}
	p.in.close()
}

// What is waited for, by its place in the list that poll is given.
const (
	atOut = iota
	atErr
	atIn
	atExit
	atBell
	places
)

// awaited is what poll is given. The rest of it is for the one who calls poll.
func (p *pipes) awaited() [places]unix.PollFd {
	return [places]unix.PollFd{
		atOut:  {Fd: int32(p.out.r), Events: unix.POLLIN},
		atErr:  {Fd: int32(p.err.r), Events: unix.POLLIN},
		atIn:   {Fd: int32(p.in), Events: unix.POLLOUT},
		atExit: {Fd: int32(none)},
		atBell: {Fd: int32(none)},
	}
}

// poll returns when something of what is awaited has come, or after a time.
func poll(awaited *[places]unix.PollFd, wait time.Duration) {
	_, err := unix.Poll(awaited[:], int((max(0, wait)+time.Millisecond-1)/time.Millisecond))
	if err != nil { // a signal came
		for i := range awaited {
			awaited[i].Revents = 0
		}
	}
}

// serve reads what has come, once, and writes what there is room for. It returns
// whether there was anything.
func (c *child) serve(came *[places]unix.PollFd) bool {
	if came[atIn].Revents != 0 {
		c.pipes.feed()
	}
	if came[atOut].Revents|came[atErr].Revents == 0 {
		return false
	}
	if came[atOut].Revents != 0 {
		c.read(&c.pipes.out)
	}
	if came[atErr].Revents != 0 {
		c.read(&c.pipes.err)
	}
	return true
}

// read reads from a pipe once, also when nobody wants it: a child that is told to end
// must not hang on a full pipe.
func (c *child) read(s *stream) {
	if c.pipes.buf == nil {
		c.pipes.buf = chunks.Get().(*[chunk]byte)
	}
	n, err := unix.Read(int(s.r), c.pipes.buf[:])
	switch {
	case n > 0:
		c.touch()
		s.pass(c.pipes.buf[:n])
	case err == nil || !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
		s.r.close()
	}
}

// pass gives p to the writer, if there still is one.
func (s *stream) pass(p []byte) {
	if s.w == nil {
		return
	}
	if _, err := s.w.Write(p); err != nil {
		s.w, s.failed = nil, true
	}
}

// untilExit serves the pipes and returns when the child has exited, by itself or because
// of w.
func (c *child) untilExit(ctx context.Context, w *watch) {
	b := c.pipes.bell
	defer b.giveBack()
	defer b.follow(ctx, c.options.Finished)()
	exited := c.kin.watchExit(b)
	stopped, finished, failed := false, false, false
	for {
		list := c.pipes.awaited()
		list[atExit] = unix.PollFd{Fd: int32(c.kin.handle), Events: unix.POLLIN}
		list[atBell] = unix.PollFd{Fd: int32(b.fd), Events: unix.POLLIN}
		poll(&list, time.Until(w.alarm()))
		if list[atBell].Revents != 0 {
			b.hush()
		}
		if !stopped && ctx.Err() != nil {
			stopped = true
			w.stopped(ctx)
		}
		if !finished && isClosed(c.options.Finished) {
			finished = true
			w.finished()
		}
		c.serve(&list)
		if !failed && c.pipes.out.failed {
			failed = true
			w.refused()
		}
		if list[atExit].Revents != 0 || exited.Load() {
			return
		}
		w.ring(time.Now())
	}
}

// isClosed reports whether a channel on which nothing is sent is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// drain waits for the ends of the pipes of a child that has exited, and gives up when
// nothing comes any more. It looks twice before: after a moment in which this process did
// not run, the first look may come before what is in the pipes was read.
func (c *child) drain() {
	c.pipes.in.close()
	for began, quiet := time.Now(), 0; quiet < 2 && time.Since(began) < drainMax; {
		if c.pipes.out.r == none && c.pipes.err.r == none {
			break
		}
		list := c.pipes.awaited()
		poll(&list, drainQuiet/2)
		quiet++
		if c.serve(&list) || c.silence() < drainQuiet {
			quiet = 0
		}
	}
	c.pipes.out.r.close()
	c.pipes.err.r.close()
	if c.pipes.buf != nil {
		chunks.Put(c.pipes.buf)
	}
}

// bell ends a poll from another goroutine. It is never closed but used again, so that one
// that rings late wakes somebody for nothing, and writes into no other file.
type bell struct{ fd end }

var bells struct {
	mu   sync.Mutex // guards free
	free []bell
}

// takeBell returns a bell that nobody uses.
func takeBell() (bell, error) {
	bells.mu.Lock()
	defer bells.mu.Unlock()
	if n := len(bells.free); n > 0 {
		b := bells.free[n-1]
		bells.free = bells.free[:n-1]
		return b, nil
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return bell{end(fd)}, os.NewSyscallError("eventfd", err)
}

func (b bell) giveBack() {
	if b.fd == none {
		return
	}
	bells.mu.Lock()
	defer bells.mu.Unlock()
	bells.free = append(bells.free, b)
}

func (b bell) ring() { _, _ = unix.Write(int(b.fd), []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// hush makes the bell silent until it rings again.
func (b bell) hush() {
	var count [8]byte
	_, _ = unix.Read(int(b.fd), count[:])
}

// follow rings when the context is done or the channel is closed, until the function is
// called that it returns.
func (b bell) follow(ctx context.Context, finished <-chan struct{}) func() {
	forget := context.AfterFunc(ctx, b.ring)
	if finished == nil {
		return func() { forget() }
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-finished:
			b.ring()
		case <-over:
		}
	}()
	return func() {
		forget()
		close(over)
	}
}

// watchExit returns what says that a child without a handle has exited, when b has rung.
func (k *kin) watchExit(b bell) *atomic.Bool {
	exited := &atomic.Bool{}
	if k.handle != none {
		return exited
	}
	go func() {
		k.await()
		exited.Store(true)
		b.ring()
	}()
	return exited
}
