package proc

import (
	"io"
	"os"
	"sync"
	"time"
)

// Limits for waiting for the end of a pipe when all writers should have ended. A process that is not a
// descendant, or that this process may not kill, may still have the pipe open.
const (
	drainQuiet = time.Second      // without a byte
	drainMax   = 10 * time.Second // in all
)

// openPipes opens the pipes of a child: theirs are its stdin, stdout and stderr, and ours are the other
// ends. ours[0] is nil if Options.Stdin is empty.
func openPipes(s Options) (theirs, ours [3]*os.File, err error) {
	if len(s.Stdin) > 0 {
		theirs[0], ours[0], err = os.Pipe()
	} else {
		theirs[0], err = os.Open(os.DevNull)
	}
	if err == nil {
		ours[1], theirs[1], err = os.Pipe()
	}
	if err == nil {
		ours[2], theirs[2], err = os.Pipe()
	}
	if err != nil {
		closeAll(theirs)
		closeAll(ours)
	} else if s.MergeStderr {
		theirs[2].Close()
		theirs[2] = theirs[1]
	}
	return theirs, ours, err
}

// closeAll closes files. A file may be nil or occur twice; closing it then has no effect.
func closeAll(files [3]*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// stream copies the output in one pipe of a child to a writer.
type stream struct {
	r        *os.File
	onOutput func()        // receives a call at every output
	done     chan struct{} // closed when the pipe has ended
	failed   chan struct{} // closed when the writer has failed
	mu       sync.Mutex    // guards the fields below
	w        io.Writer     // nil drops the output
	tail     *Tail         // keeps the end of the output, even if w has failed; may be nil
}

// newStream starts to read a pipe. It reads until the pipe ends, even if the writer refuses the output:
// a child that should exit must not block on a full pipe.
func newStream(r *os.File, w io.Writer, tail *Tail, touch func()) *stream {
	s := &stream{r: r, w: w, tail: tail, onOutput: touch, done: make(chan struct{}), failed: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer s.r.Close()
		_, _ = io.Copy(s, s.r)
	}()
	return s
}

// Write passes p to the writer if that has not failed. It never fails itself.
func (s *stream) Write(p []byte) (int, error) {
	s.onOutput()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tail != nil {
		_, _ = s.tail.Write(p)
	}
	if s.w != nil {
		if _, err := s.w.Write(p); err != nil {
			s.w = nil
			close(s.failed)
		}
	}
	return len(p), nil
}

// drop makes sure that nothing more is written to the writer and the tail.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w, s.tail = nil, nil
}

// drain waits for the end of the pipe, but gives up when there has been no output for a while. It
// checks twice before it gives up: if this process was stopped for some time, the first check may come
// before the output in the pipe was read. The writer is not called after drain has returned.
func (c *child) drain(s *stream) {
	defer s.drop()
	giveUp := time.After(drainMax)
	for quiet := 0; quiet < 2; {
		select {
		case <-s.done:
			return
		case <-giveUp:
			quiet = 2
		case <-time.After(drainQuiet / 2):
			if quiet++; c.sinceOutput() < drainQuiet {
				quiet = 0
			}
		}
	}
	// On Windows, a read can't be interrupted. The goroutine then stays until the pipe ends.
	if s.r.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-s.done
	}
}
