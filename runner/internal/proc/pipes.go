package proc

import (
	"io"
	"os"
	"sync"
	"time"
)

// Limits for the time that drain waits for the end of a pipe after the child's processes have been
// ended. A process may still have the pipe open if it is not a descendant of the child, or if this
// process may not kill it.
const (
	drainQuiet = time.Second      // without any output
	drainMax   = 10 * time.Second // in total
)

// openPipes opens the pipes of a child. theirs contains the child's stdin, stdout and stderr, and ours
// contains the other ends. If Options.Stdin is empty, ours[0] is nil.
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

// closeAll closes files. It ignores errors, so an element may be nil or occur twice.
func closeAll(files [3]*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// stream copies the output from one of a child's pipes to a writer.
type stream struct {
	r        *os.File
	onOutput func()        // called whenever there is output
	done     chan struct{} // closed when the pipe has ended
	failed   chan struct{} // closed when the writer has returned an error
	mu       sync.Mutex    // guards the fields below
	w        io.Writer     // the writer; if it is nil, output is dropped
	tail     *Tail         // stores the end of the output, even after the writer has failed; may be nil
}

// newStream starts to copy the output from a pipe. It calls touch whenever there is output. If the
// writer returns an error, the stream still reads until the pipe ends, so that a child that should exit
// doesn't block on a full pipe.
func newStream(r *os.File, w io.Writer, tail *Tail, touch func()) *stream {
	s := &stream{r: r, w: w, tail: tail, onOutput: touch, done: make(chan struct{}), failed: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer s.r.Close()
		_, _ = io.Copy(s, s.r)
	}()
	return s
}

// Write passes p to the tail and, unless the writer has failed before, to the writer. It never returns an
// error.
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

// drop ensures that nothing more is written to the writer and the tail.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w, s.tail = nil, nil
}

// drain waits until the pipe ends. It gives up if there is no output for drainQuiet, or after drainMax.
// It checks twice before it gives up: if this process was stopped for some time, the first check may
// come before the output in the pipe has been read. After drain has returned, the writer is not called
// any more.
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
	// On Windows, a read can't be interrupted. The goroutine then continues until the pipe ends.
	if s.r.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-s.done
	}
}
