//go:build !linux

package proc

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// end is one end of a pipe, or another open file.
type end = *os.File

func endOf(f *os.File) end { return f }

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
	stdin    *feed // nil: the null device
	out, err *stream
}

// attach starts the goroutines that serve the pipes.
func (c *child) attach(p plumbing) {
	c.pipes = pipes{
		stdin: newFeed(p.in, c.options.Stdin),
		out:   newStream(p.out, c.options.Stdout, c.touch),
		err:   newStream(p.err, &stderrSink{tail: &c.tail, w: c.options.Stderr}, c.touch),
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
	c.pipes.stdin.stop()
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

// feed writes a text into the stdin of a child.
type feed struct {
	w    *os.File
	done chan struct{}
}

// newFeed starts writing; without a pipe there is nothing to do, and it is nil.
func newFeed(w *os.File, text []byte) *feed {
	if w == nil {
		return nil
	}
	f := &feed{w: w, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer w.Close()
		// A child that stops reading has read what it wanted.
		_, _ = w.Write(text)
	}()
	return f
}

// stop ends the writing, whoever still holds the other end.
func (f *feed) stop() {
	if f == nil {
		return
	}
	select {
	case <-f.done:
		return
	default:
	}
	if f.w.SetWriteDeadline(time.Unix(1, 0)) == nil {
		<-f.done
	}
}
