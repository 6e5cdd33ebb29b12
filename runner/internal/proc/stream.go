package proc

import (
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

// The limits of waiting for the end of a pipe whose writers should be gone. One
// that is not may have it from somebody who is no descendant, or is not ours to
// kill.
const (
	drainQuiet = time.Second      // without a byte
	drainMax   = 10 * time.Second // in all
)

// drain waits for the end of the pipe, and gives up when nothing comes any more. It looks
// twice before: after a moment in which this process did not run, the first look may come
// before what is in the pipe was read. Afterwards the writer is not called again.
func (c *child) drain(s *stream) {
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
