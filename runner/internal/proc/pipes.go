package proc

import (
	"io"
	"os"
	"sync"
	"time"
)

// The limits of waiting for the end of a pipe whose writers should be gone. One
// that is not may have it from somebody who is no descendant, or is not ours to
// kill.
const (
	drainQuiet = time.Second      // without a byte
	drainMax   = 10 * time.Second // in all
)

// openPipes opens the pipes of a child: stdin, stdout and stderr of it, and our ends of them. Ours of stdin is nil without
// Options.Stdin.
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

// closeAll closes files, some of which may be nil, or stand there twice: that does nothing.
func closeAll(files [3]*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// stream carries what a child writes into one pipe to a writer.
type stream struct {
	r      *os.File
	touch  func()        // is told that there was something
	done   chan struct{} // closed when the pipe has ended
	failed chan struct{} // closed when the writer refused
	mu     sync.Mutex    // guards what follows
	w      io.Writer     // nil: drop what comes
	tail   *Tail         // keeps the end of what comes, whatever w does; nil for none
}

// newStream reads until the pipe ends, also when nobody wants it: a child that is
// told to end must not hang on a full pipe.
func newStream(r *os.File, w io.Writer, tail *Tail, touch func()) *stream {
	s := &stream{r: r, w: w, tail: tail, touch: touch, done: make(chan struct{}), failed: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer s.r.Close()
		_, _ = io.Copy(s, s.r)
	}()
	return s
}

// Write gives p to the writer, if there still is one. It never fails.
func (s *stream) Write(p []byte) (int, error) {
	s.touch()
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

// drop makes sure that the writer and the tail are not written to any more.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w, s.tail = nil, nil
}

// drainOne waits for the end of the pipe, and gives up when nothing comes any more. It looks
// twice before: after a moment in which this process did not run, the first look may come
// before what is in the pipe was read. Afterwards the writer is not called again.
func (c *child) drainOne(s *stream) {
	defer s.drop()
	giveUp := time.After(drainMax)
	for quiet := 0; quiet < 2; {
		select {
		case <-s.done:
			return
		case <-giveUp:
			quiet = 2
		case <-time.After(drainQuiet / 2):
			if quiet++; c.silence() < drainQuiet {
				quiet = 0
			}
		}
	}
	// Where a read can't be interrupted (Windows) its goroutine stays until the pipe ends.
	if s.r.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-s.done
	}
}
