package traces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

const (
	mostWaiting = 2048            // spans that wait to be sent; more are lost
	mostAtOnce  = 512             // spans in one request
	longestWait = 5 * time.Second // until a span is sent
)

// pipeline sends spans that have ended, in the background.
type pipeline struct {
	client  *client
	about   resource
	scope   scope
	abort   context.CancelFunc // ends all requests
	full    chan struct{}      // has a value when a request's worth of spans waits
	last    sync.Once          // closes closing
	closing chan struct{}      // closed once nothing more comes: what fails then is not repeated
	done    chan struct{}      // closed once all was sent, or given up

	mu      sync.Mutex // guards what follows
	waiting []*span
	ended   int // spans
	arrived int
	why     error // the first reason why some did not arrive
}

// newPipeline starts to send spans, until close. A nil transport is that of the settings.
func newPipeline(s *settings, transport http.RoundTripper, about resource, version string) *pipeline {
	ctx, abort := context.WithCancel(context.Background())
	p := &pipeline{
		client: newClient(ctx, s, transport), about: about, scope: scope{"github.com/raymond-action/raymond-action", version},
		abort: abort, full: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go p.work()
	return p
}

// end ends a span, which is then sent. Nobody changes it any more.
func (p *pipeline) end(s *span, at time.Time) {
	s.End = at.UnixNano()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	if len(p.waiting) < mostWaiting {
		p.waiting = append(p.waiting, s)
	}
	if len(p.waiting) < mostAtOnce {
		return
	}
	select {
	case p.full <- struct{}{}:
	default:
	}
}

// work sends what waits, again and again until nothing more comes and nothing is left.
func (p *pipeline) work() {
	defer close(p.done)
	for isOpen := true; isOpen; {
		timer := time.NewTimer(longestWait)
		select {
		case <-timer.C:
		case <-p.full:
		case <-p.closing:
			isOpen = false
		}
		timer.Stop()
		p.send(!isOpen)
	}
}

// send sends all that waits. What may pass later goes on waiting, unless this is its last chance.
func (p *pipeline) send(isLast bool) {
	for spans := p.next(); len(spans) > 0; spans = p.next() {
		arrived, err := p.export(spans)
		if isBusy := p.book(arrived, err); isBusy && !isLast && p.putBack(spans) {
			return
		}
	}
}

// book notes how many spans of a request have arrived, and reports whether the others may later.
func (p *pipeline) book(arrived int, err error) (isBusy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived += arrived
	if p.why == nil {
		p.why = err
	}
	return errors.As(err, &busy{})
}

// putBack lets spans wait once more, if there is room for them.
func (p *pipeline) putBack(spans []*span) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting)+len(spans) > mostWaiting {
		return false
	}
	p.waiting = append(spans, p.waiting...)
	return true
}

// next takes the oldest spans that wait, at most as many as one request has.
func (p *pipeline) next() []*span {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.waiting), mostAtOnce)
	spans := p.waiting[:n:n]
	p.waiting = p.waiting[n:]
	return spans
}

// export returns how many of the spans have arrived, and why others have not.
func (p *pipeline) export(spans []*span) (arrived int, err error) {
	body, err := json.Marshal(export{[]resourceSpans{{p.about, []scopeSpans{{p.scope, spans}}}}})
	if err != nil {
		return 0, err
	}
	refused, err := p.client.upload(body)
	if err != nil && refused == 0 {
		return 0, err
	}
	return len(spans) - int(min(refused, int64(len(spans)))), err
}

// close has what is left sent. No span ends after it.
func (p *pipeline) close() { p.last.Do(func() { close(p.closing) }) }

// wait waits until all was sent after close, for at most so long. It returns a line about what
// did not arrive; "" when all did.
func (p *pipeline) wait(most time.Duration) string {
	select {
	case <-p.done:
	case <-time.After(most):
		p.abort()
		<-p.done
	}
	p.abort()
	if lost := p.ended - p.arrived; lost > 0 {
		return fmt.Sprintf("traces: %d of %s did not reach the collector: %s", lost, state.Count(p.ended, "span"), p.reason())
	}
	return ""
}

// reason says why not all has arrived, without the secrets.
func (p *pipeline) reason() string {
	if p.why == nil {
		return "there were too many at once"
	}
	why := p.why.Error()
	for _, secret := range p.client.settings.headers {
		if secret != "" {
			why = strings.ReplaceAll(why, secret, "***")
		}
	}
	return text.Line(text.Shortened(why, 2*mostReason))
}
