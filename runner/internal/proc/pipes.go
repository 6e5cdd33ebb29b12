package proc

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// chunk is how much is read at once: half of what a pipe holds, so that the child
// can write one half while the other is read.
const chunk = 32 << 10

// chunks keeps read buffers between children, so that a loop of short scripts
// makes no garbage.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// The limits of waiting for the end of a pipe whose writers should be gone. One
// that is not may have it from somebody who is no descendant, or is not ours to
// kill.
const (
	drainQuiet = time.Second      // without a byte
	drainMax   = 10 * time.Second // in all
)

// plumbing is the set of files that a child is started with.
type plumbing struct {
	theirs       [3]*os.File // stdin, stdout, stderr of the child
	in, out, err *os.File    // our ends; in is nil without Options.Stdin
}

// openPipes opens the pipes of a child.
func openPipes(s Options) (p plumbing, err error) {
	if len(s.Stdin) > 0 {
		p.theirs[0], p.in, err = os.Pipe()
	} else {
		p.theirs[0], err = os.Open(os.DevNull)
	}
	if err == nil {
		p.out, p.theirs[1], err = os.Pipe()
	}
	if err == nil {
		p.err, p.theirs[2], err = os.Pipe()
	}
	if err != nil {
		p.closeTheirs()
		p.closeOurs()
		return p, err
	}
	if s.MergeStderr {
		p.theirs[2].Close()
		p.theirs[2] = p.theirs[1]
	}
	return p, nil
}

// closeTheirs closes the ends of the child. Closing one twice does nothing.
func (p plumbing) closeTheirs() { closeAll(p.theirs[:]) }

// closeOurs closes our ends, of a child that did not start.
func (p plumbing) closeOurs() { closeAll([]*os.File{p.in, p.out, p.err}) }

// closeAll closes files, of which some may be nil.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// pipes are our ends of the pipes of a child, with a goroutine for each.
type pipes struct {
	in       *os.File        // nil: the null device
	fed      <-chan struct{} // closed when in is
	out, err *stream
}

// attach starts the goroutines that serve the pipes.
func (c *child) attach(p plumbing) {
	c.pipes = pipes{
		in:  p.in,
		out: newStream(p.out, c.options.Stdout, c.touch),
		err: newStream(p.err, &stderrSink{tail: &c.tail, w: c.options.Stderr}, c.touch),
	}
	if p.in != nil {
		c.pipes.fed = feed(p.in, c.options.Stdin)
	}
}

// untilExit returns when the child has exited, by itself or because of w.
func (c *child) untilExit(ctx context.Context, w *watch) {
	exited := make(chan struct{})
	go func() {
		c.kin.await()
		close(exited)
	}()
	timer := time.NewTimer(time.Until(w.alarm()))
	defer timer.Stop()
	stopped, finished, failed := ctx.Done(), c.options.Finished, c.pipes.out.failed
	for {
		select {
		case <-exited:
			return
		case <-stopped:
			stopped = nil
			w.stopped(ctx)
		case <-finished:
			finished = nil
			w.finished()
		case <-failed:
			failed = nil
			w.refused()
		case <-timer.C:
			w.ring(time.Now())
		}
		timer.Reset(time.Until(w.alarm()))
	}
}

// drain waits for the ends of the pipes of a child that has exited.
func (c *child) drain() {
	if in := c.pipes.in; in != nil && in.SetWriteDeadline(time.Unix(1, 0)) == nil { // whoever still holds the other end
		<-c.pipes.fed
	}
	c.drainOne(c.pipes.out)
	c.drainOne(c.pipes.err)
}

// stream carries what a child writes into one pipe to a writer.
type stream struct {
	r      *os.File
	done   chan struct{} // closed when the pipe has ended
	failed chan struct{} // closed when the writer refused
	mu     sync.Mutex    // guards w
	w      io.Writer     // nil: drop what comes
}

func newStream(r *os.File, w io.Writer, touch func()) *stream {
	s := &stream{r: r, w: w, done: make(chan struct{}), failed: make(chan struct{})}
	go s.carry(touch)
	return s
}

// carry reads until the pipe ends, also when nobody wants it: a child that is
// told to end must not hang on a full pipe.
func (s *stream) carry(touch func()) {
	defer close(s.done)
	defer s.r.Close()
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for {
		n, err := s.r.Read(buf[:])
		if n > 0 {
			touch()
			s.pass(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// pass gives p to the writer, if there still is one.
func (s *stream) pass(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return
	}
	if _, err := s.w.Write(p); err != nil {
		s.w = nil
		close(s.failed)
	}
}

// drop makes sure that the writer is not called any more.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}

// drainOne waits for the end of the pipe, and gives up when nothing comes any more. It looks
// twice before: after a moment in which this process did not run, the first look may come
// before what is in the pipe was read. Afterwards the writer is not called again.
func (c *child) drainOne(s *stream) {
	defer s.drop()
	giveUp := time.NewTimer(drainMax)
	defer giveUp.Stop()
	look := time.NewTicker(drainQuiet / 2)
	defer look.Stop()
	for quiet := 0; quiet < 2; {
		select {
		case <-s.done:
			return
		case <-giveUp.C:
			quiet = 2
		case <-look.C:
			quiet++
			if c.silence() < drainQuiet {
				quiet = 0
			}
		}
	}
	s.abandon()
}

// abandon ends the reading of a pipe that does not end by itself. Where a read
// can't be interrupted (Windows) its goroutine stays until the pipe ends.
func (s *stream) abandon() {
	if s.r.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-s.done
	}
}

// feed writes a text into the stdin of a child. A child that stops reading has read what it wanted.
func feed(w *os.File, text []byte) (done <-chan struct{}) {
	end := make(chan struct{})
	go func() {
		defer close(end)
		defer w.Close()
		_, _ = w.Write(text)
	}()
	return end
}
