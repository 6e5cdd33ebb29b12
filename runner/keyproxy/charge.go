package keyproxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	// maxCounted is the maximum length in bytes of an event in a stream, or of a response that is not a
	// stream. The tokens in longer ones are not counted. maxCounted is larger than maxBody, because some APIs
	// repeat the request in the response.
	maxCounted = maxBody + 4<<20
	// maxDrained is how many bytes of a response are read after its client has left.
	maxDrained = 64 << 20
)

// startCounting makes a response count its tokens while its body is read. If the response is neither JSON nor
// an event stream, the request is recorded with its reserved cost.
func (e *exchange) startCounting(r *http.Response) {
	a := e.account
	w := &countedBody{body: r.Body, account: a, counter: a.vendor.api.Counter(e.request), process: func([]byte) {}}
	e.body, r.Body = w, w
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	switch kind = strings.TrimSpace(kind) + strings.TrimPrefix(r.Header.Get("Content-Encoding"), "identity"); kind {
	case "text/event-stream":
		w.process = w.events
	case "application/json":
		w.process = w.document
	default:
		a.proxy.logOnce("a response of the API is neither JSON nor an event stream (" + kind + "): it counts as the maximum that it may cost")
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	a.counts.open[w] = struct{}{}
}

// countedBody is the body of a response. It counts the response's tokens while the body is read, and returns
// the API's bytes unchanged and without delay.
type countedBody struct {
	body    io.ReadCloser
	account *Account

	// The other fields are guarded by account.counts.mu.
	process  func([]byte) // processes bytes as they pass; nil bytes mean the end
	buffered []byte       // the beginning of a line, or a response that is not a stream
	counter  Counter
	isLong   bool // a line or the response was longer than maxCounted, and so not counted
	isOver   bool // the API has sent everything, or has aborted the response
	begun    bool // the message has begun, and Watch has been notified
}

// Read implements io.Reader.
func (w *countedBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.account.counts.mu.Lock()
	defer w.account.counts.mu.Unlock()
	w.process(p[:n])
	if err != nil && !w.isOver {
		w.isOver = errors.Is(err, io.EOF) || w.account.life.Err() == nil
		w.process(nil)
		w.process = func([]byte) {}
	}
	return n, err
}

// Close implements io.Closer. If the client left before the end, Close first reads the rest of the response,
// up to maxDrained bytes, because it must be paid for too.
func (w *countedBody) Close() error {
	// An error means that the response has ended.
	_, _ = io.Copy(io.Discard, io.LimitReader(w, maxDrained))
	return w.body.Close()
}

// recordCost adds the cost of a finished request to the account's counts and notifies Watch.
func (e *exchange) recordCost() {
	a := e.account
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	if m := e.finalCost(); m != nil {
		a.counts.sums = a.counts.sums.Add(m)
	}
	delete(a.counts.open, e.body)
	a.notify()
}

// finalCost returns the cost of a finished request. It returns nil if the request cost nothing. Normally
// the cost is what the API counted. If the API counted nothing, the cost is the amount that was reserved
// for the request. If it counted only a part, the rest is added at its maximum. The caller must hold the
// mu of the account's counts.
func (e *exchange) finalCost() *Message {
	if e.status >= http.StatusMultipleChoices || e.status == 0 && !e.isSent.Load() {
		return nil
	}
	var m *Message
	if e.body != nil {
		m = e.body.counter.Message()
	}
	if m == nil || !m.hasInput {
		return &Message{Usage: state.Usage{Model: e.request.Model}, isCounted: true, reserved: e.price}
	}
	p := e.account.proxy
	price, _ := p.price(m.Usage.Model)
	most, isCut := m.Usage, e.body.isLong || !e.body.isOver
	most.Output = max(most.Output, e.request.output())
	m.Usage.Surcharge = m.Usage.Surcharge.Plus(price.Surcharge(m.Usage))
	if isCut {
		m.isCounted = true
		m.reserved = price.Cost(most).Plus(price.Surcharge(most)).Plus(e.request.fees()) - price.Cost(m.Usage)
	}
	if m.Usage.HasFees {
		p.logOnce("a response of the API has a counter without a known price: the cost of the invocation is unknown")
	}
	if m.Usage.HasFees || isCut && e.request.runsAlone() {
		m.reserved = max(m.reserved, e.price-price.Cost(m.Usage))
	}
	return m
}

// buffer appends bytes of a line, or of a response that is not a stream. Beyond maxCounted bytes, it drops
// everything and marks the response as too long.
func (w *countedBody) buffer(p []byte) {
	if w.buffered = append(w.buffered, p...); len(w.buffered) > maxCounted {
		w.buffered, w.isLong = w.buffered[:0], true
		w.account.proxy.logOnce("a response of the API is too long to be counted: it counts as the maximum that it may cost")
	}
}

// events processes the next bytes of an event stream. nil means the end of the stream.
func (w *countedBody) events(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(w.buffered) > 0 || !ended {
			w.buffer(line)
			line = w.buffered
		}
		if !ended {
			return
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			w.counter.Event(bytes.TrimSpace(data))
			if !w.begun && w.counter.Message() != nil {
				w.begun = true
				w.account.notify()
			}
		}
		w.buffered, p = w.buffered[:0], rest
	}
}

// document processes the next bytes of a response that is not a stream. nil means the end of the response.
func (w *countedBody) document(p []byte) {
	if p != nil {
		w.buffer(p)
		return
	}
	w.counter.Whole(w.buffered)
	w.buffered = nil
}

// notify signals Watch that the counts have changed.
func (a *Account) notify() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}
