package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// maxIdle is how long a call may go on without progress, over all of its tries
// and the pauses between them. One try may wait a third of it.
const maxIdle = 3 * time.Minute

var errStalled = errors.New("the service stopped answering")

// pace watches over one call: each try ends when nothing moves for a time, and
// the call when nothing new has come for a longer one. A service that begins
// again and again, and never gets further, makes no progress.
type pace struct {
	most time.Duration

	mu   sync.Mutex // guards what follows
	left time.Duration
	far  int64     // how far the content has come in any try, in bytes
	mark time.Time // since when left counts
	try  *time.Timer
}

// run makes one try.
func (p *pace) run(ctx context.Context, try func(context.Context, *pace) answer) answer {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.mu.Lock()
	p.mark = time.Now()
	within := min(p.most/3, p.left)
	p.try = time.AfterFunc(within, func() { cancel(errStalled) })
	p.mu.Unlock()
	a := try(ctx, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.try.Stop()
	p.left -= time.Since(p.mark)
	if a.err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return answer{status: a.status, err: fmt.Errorf("%w for %v", errStalled, within.Round(time.Millisecond))}
	}
	return a
}

// spend takes a pause off the time that is left, and reports whether there is
// none.
func (p *pace) spend(pause time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= pause
	return p.left <= 0
}

// moved notes that a try has come as far as a byte.
func (p *pace) moved(to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if to > p.far {
		p.far, p.left, p.mark = to, p.most, now
	}
	p.try.Reset(min(p.most/3, p.left-now.Sub(p.mark)))
}

// paced tells a pace how far a content was read.
type paced struct {
	r    io.Reader
	p    *pace
	read int64
}

// Read implements io.Reader.
func (r *paced) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if n > 0 {
		r.read += int64(n)
		r.p.moved(r.read)
	}
	return n, err
}
