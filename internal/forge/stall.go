package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

var errStalled = errors.New("the service stopped answering")

// maxStall is the time after which an attempt that transfers no data is canceled.
const maxStall = time.Minute

// Progress watches one attempt, which is canceled if no data is transferred for some time.
type Progress struct {
	within time.Duration // maximum time without data
	stall  *time.Timer
	began  time.Time
	moved  atomic.Int64 // time of the last data, in nanoseconds after began
}

// attempt makes one attempt. It cancels the attempt if no data is transferred for the time within. idle is
// the time between the last data and the end of the attempt.
func attempt(ctx context.Context, within time.Duration, try func(context.Context, *Progress) *Error) (idle time.Duration, _ *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &Progress{within: within, stall: time.AfterFunc(within, func() { cancel(errStalled) }), began: time.Now()}
	defer p.stall.Stop()
	e := try(ctx, p)
	if e != nil && errors.Is(context.Cause(ctx), errStalled) {
		e = &Error{Status: e.Status, Err: fmt.Errorf("%w for %v", errStalled, within.Round(time.Second))}
	}
	return time.Since(p.began) - time.Duration(p.moved.Load()), e
}

// Watch returns a reader of r. Each read that returns data counts as progress of the attempt.
func (p *Progress) Watch(r io.Reader) io.Reader { return watched{r, p} }

type watched struct {
	r io.Reader
	p *Progress
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.p.stall.Reset(w.p.within)
		w.p.moved.Store(int64(time.Since(w.p.began)))
	}
	return n, err
}
