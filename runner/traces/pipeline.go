package traces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	client *client
	about  resource
	scope  scope
	abort  context.CancelFunc // ends all requests
	spans  chan *span         // that have ended; closed once nothing more comes
	closed bool
	ended  int           // spans
	done   chan struct{} // closed once all was sent, or given up; until then what follows is work's

	arrived int   // spans
	why     error // the first reason why some did not arrive
}

// newPipeline starts to send spans, until close. A nil transport is that of the settings.
func newPipeline(s *settings, transport http.RoundTripper, about resource, version string) *pipeline {
	ctx, abort := context.WithCancel(context.Background())
	p := &pipeline{
		client: newClient(ctx, s, transport), about: about, scope: scope{"github.com/raymond-action/raymond-action", version},
		abort: abort, spans: make(chan *span, mostWaiting), done: make(chan struct{}),
	}
	go p.work()
	return p
}

// end ends a span, which is then sent, unless too many wait. Nobody changes it any more.
func (p *pipeline) end(s *span, at time.Time) {
	s.End = at.UnixNano()
	p.ended++
	if p.closed {
		return
	}
	select {
	case p.spans <- s:
	default:
	}
}

// work sends what has ended, again and again until nothing more comes.
func (p *pipeline) work() {
	defer close(p.done)
	ticker := time.NewTicker(longestWait)
	defer ticker.Stop()
	var waiting []*span
	for isOpen := true; isOpen; {
		var s *span
		select {
		case s, isOpen = <-p.spans:
			if isOpen {
				waiting = append(waiting, s)
			}
			if isOpen && len(waiting)%mostAtOnce != 0 {
				continue
			}
		case <-ticker.C:
		}
		waiting = p.send(waiting, !isOpen)
	}
}

// send sends spans and returns those that wait for another time: what may pass later, unless this is its last
// chance or too many wait.
func (p *pipeline) send(spans []*span, isLast bool) []*span {
	for len(spans) > 0 {
		n := min(len(spans), mostAtOnce)
		arrived, err := p.export(spans[:n])
		p.arrived += arrived
		if p.why == nil {
			p.why = err
		}
		if errors.As(err, &busy{}) && !isLast && len(spans) < mostWaiting {
			return spans
		}
		spans = spans[n:]
	}
	return nil
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

// close has what is left sent.
func (p *pipeline) close() {
	if !p.closed {
		p.closed = true
		close(p.spans)
	}
}

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
	return text.Line(text.Truncate(why, 2*mostReason))
}
