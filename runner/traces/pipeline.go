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
	maxQueued     = 2048            // spans in the queue; if it is full, further spans are lost
	maxPerRequest = 512             // maximum number of spans in one request
	sendInterval  = 5 * time.Second // interval at which spans are sent
)

// pipeline sends completed spans to a collector in the background.
type pipeline struct {
	client *client
	about  resource
	scope  scope
	abort  context.CancelFunc // cancels all requests
	spans  chan *span         // completed spans; closed after the last one
	closed bool
	ended  int // number of spans that were completed
	// done is closed after all spans were sent or given up. Until then, only the method work may
	// use the fields below.
	done chan struct{}

	arrived    int   // number of spans that the collector has accepted
	firstError error // the first error that caused the loss of spans
}

// newPipeline starts a pipeline, which the caller must close. If transport is nil, the pipeline uses
// the default transport with the TLS configuration of the settings.
func newPipeline(s *settings, transport http.RoundTripper, about resource, version string) *pipeline {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = s.tls
		transport = t
	}
	ctx, abort := context.WithCancel(context.Background())
	p := &pipeline{
		client: &client{settings: s, ctx: ctx, http: &http.Client{
			Transport: transport,
			// The headers contain credentials, so a redirect must not send them to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
		about: about, scope: scope{"github.com/raymond-action/raymond-action", version},
		abort: abort, spans: make(chan *span, maxQueued), done: make(chan struct{}),
	}
	go p.work()
	return p
}

// end sets the end of a span and queues it. If the queue is full, the span is lost. The span must
// not be changed afterwards.
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

// work sends the queued spans until the pipeline is closed, and then the remaining ones.
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

// send sends spans, and returns the spans to send again later. If isLast is set or too many spans
// are queued, it drops the spans that can't be sent.
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

// export sends spans in one request. It returns how many the collector has accepted, and why it has
// not accepted the others.
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

// close lets the pipeline send the remaining spans and then end. It does not wait for that.
func (p *pipeline) close() {
	if !p.closed {
		p.closed = true
		close(p.spans)
	}
}

// wait waits until all spans are sent, but at most for the given time. It must be called after
// close. It returns a line about lost spans, or "" if all spans were sent. The values of headers, which
// may be secrets, are masked in the line.
func (p *pipeline) wait(most time.Duration) string {
	select {
	case <-p.done:
	case <-time.After(most):
		p.abort()
		<-p.done
	}
	p.abort()
	if p.ended <= p.arrived {
		return ""
	}
	why := "there were too many at once"
	if p.firstError != nil {
		why = p.firstError.Error()
		for _, secret := range p.client.settings.headers {
			if secret != "" {
				why = strings.ReplaceAll(why, secret, "***")
			}
		}
		why = text.Line(text.Truncate(why, 2*maxReason))
	}
	return fmt.Sprintf("traces: %d of %s did not reach the collector: %s", p.ended-p.arrived, state.Count(p.ended, "span"), why)
}
