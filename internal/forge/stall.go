package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var errStalled = errors.New("the service stopped answering")

// maxStall is how long an attempt may go on while nothing moves.
const maxStall = time.Minute

// Progress watches over one attempt, which ends when nothing moves for a minute.
type Progress struct{ stall *time.Timer }

// attempt makes one attempt.
func attempt(ctx context.Context, try func(context.Context, *Progress) *Error) *Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &Progress{time.AfterFunc(maxStall, func() { cancel(errStalled) })}
	defer p.stall.Stop()
	e := try(ctx, p)
	if e != nil && errors.Is(context.Cause(ctx), errStalled) {
		return &Error{Status: e.Status, Err: fmt.Errorf("%w for %v", errStalled, maxStall)}
	}
	return e
}

// Watch returns a reader of r whose reads count as progress of the attempt.
func (p *Progress) Watch(r io.Reader) io.Reader { return watched{r, p.stall} }

type watched struct {
	r     io.Reader
	stall *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.stall.Reset(maxStall)
	}
	return n, err
}
