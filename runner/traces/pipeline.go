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
	maxQueued     = 2048            // spans in the queue; further ones are lost
	maxPerRequest = 512             // spans in one request
	sendInterval  = 5 * time.Second // until a span is sent
)

// pipeline sends completed spans in the background.
type pipeline struct {
	client *client
	about  resource
	scope  scope
	abort  context.CancelFunc // cancels all requests
	spans  chan *span         // completed spans; closed after the last one
	closed bool
	ended  int           // number of completed spans
	done   chan struct{} // closed after all spans were sent or given up; until then only work may use the fields below

	arrived    int   // number of spans that have arrived
	firstError error // the first error that lost spans
}

// newPipeline starts a pipeline, which must be closed. A nil transport means the default one.
func newPipeline(s *settings, transport http.RoundTripper, about resource, version string) *pipeline {
	ctx, abort := context.WithCancel(context.Background())
	p := &pipeline{
		client: newClient(ctx, s, transport), about: about, scope: scope{"github.com/raymond-action/raymond-action", version},
		abort: abort, spans: make(chan *span, maxQueued), done: make(chan struct{}),
	}
	go p.work()
	return p
}

// end completes a span and queues it, unless the queue is full. The span must not be changed
// afterwards.
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

// work sends completed spans until the pipeline is closed.
func (p *pipeline) work() {
	defer close(p.done)
	ticker := time.NewTicker(sendInterval)
	defer ticker.Stop()
	var waiting []*span
	for isOpen := true; isOpen; {
		var s *span
		select {
		case s, isOpen = <-p.spans:
			if isOpen {
				waiting = append(waiting, s)
			}
			if isOpen && len(waiting)%maxPerRequest != 0 {
				continue
			}
		case <-ticker.C:
		}
		waiting = p.send(waiting, !isOpen)
	}
}

// send sends spans, and returns those to send again later. It gives up on spans if isLast is set,
// or if too many are waiting.
func (p *pipeline) send(spans []*span, isLast bool) []*span {
	for len(spans) > 0 {
		n := min(len(spans), maxPerRequest)
		arrived, err := p.export(spans[:n])
		p.arrived += arrived
		if p.firstError == nil {
			p.firstError = err
		}
		if errors.As(err, &busyError{}) && !isLast && len(spans) < maxQueued {
			return spans
		}
		spans = spans[n:]
	}
	return nil
}

// export sends spans in one request. It returns how many have arrived, and why others have not.
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

// close makes the pipeline send the remaining spans.
func (p *pipeline) close() {
	if !p.closed {
		p.closed = true
		close(p.spans)
	}
}

// wait waits after close until all spans are sent, but at most for the given time. It returns a
// line about lost spans, or "".
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

// reason returns why spans were lost, without secrets.
func (p *pipeline) reason() string {
	if p.firstError == nil {
		return "there were too many at once"
	}
	why := p.firstError.Error()
	for _, secret := range p.client.settings.headers {
		if secret != "" {
			why = strings.ReplaceAll(why, secret, "***")
		}
	}
	return text.Line(text.Truncate(why, 2*maxReason))
}
