package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

var errStalled = errors.New("the service stopped answering")

// Progress watches over one call: each attempt ends when nothing moves for a time,
// and the call when nothing new has come for a longer one. A service that begins again
// and again, and never gets further, makes no progress.
type Progress struct {
	idle time.Duration

	mu    sync.Mutex // guards what follows
	left  time.Duration
	far   int64     // how far the content has come in any attempt, in bytes
	since time.Time // from when left counts
	timer *time.Timer
}

func newProgress(idle time.Duration) *Progress { return &Progress{idle: idle, left: idle} }

// attempt makes one attempt.
func (p *Progress) attempt(ctx context.Context, try func(context.Context, *Progress) *Error) *Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.mu.Lock()
	p.since = time.Now()
	within := min(p.idle/3, p.left)
	p.timer = time.AfterFunc(within, func() { cancel(errStalled) })
	p.mu.Unlock()
	e := try(ctx, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.left -= time.Since(p.since)
	if e != nil && errors.Is(context.Cause(ctx), errStalled) {
		return &Error{Status: e.Status, Err: fmt.Errorf("%w for %v", errStalled, within.Round(time.Millisecond))}
	}
	return e
}

// spend takes a pause off the time that is left, and reports whether there is none.
func (p *Progress) spend(pause time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= pause
	return p.left <= 0
}

// moved notes that an attempt has come as far as a byte.
func (p *Progress) moved(to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if to > p.far {
		p.far, p.left, p.since = to, p.idle, now
	}
	p.timer.Reset(min(p.idle/3, p.left-now.Sub(p.since)))
}

// Watch returns a reader of r whose reads count as progress of the call.
func (p *Progress) Watch(r io.Reader) io.Reader { return &watched{r: r, p: p} }

type watched struct {
	r    io.Reader
	p    *Progress
	read int64
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.read += int64(n)
		w.p.moved(w.read)
	}
	return n, err
}
