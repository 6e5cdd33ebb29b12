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
	// maxCounted is the maximum length of an event of a stream, or of a response that is not a stream,
	// that is counted. Some APIs repeat the request in it.
	maxCounted = maxBody + 4<<20
	// maxDrained is how many bytes of a response are read after its client has left.
	maxDrained = 64 << 20
)

// startCounting counts the tokens of a response while it passes. A response in another format costs the
// amount that was reserved.
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

// countedBody is the body of a response, which it counts while the body is read. It returns the bytes
// of the API unchanged and without delay.
type countedBody struct {
	body    io.ReadCloser
	account *Account

	// The other fields are guarded by account.counts.mu.
	process  func([]byte) // processes bytes as they pass
	buffered []byte       // the beginning of a line, or of a response that is not a stream
	counter  Counter
	isLong   bool // a part was longer than maxCounted
	isOver   bool // the API has sent everything, or has broken off
	begun    bool // the message has begun, which has been reported
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

// Close implements io.Closer. If the client left before the end, Close reads the rest of the response,
// because that must be paid for too.
func (w *countedBody) Close() error {
	_, _ = io.Copy(io.Discard, io.LimitReader(w, maxDrained)) // an error means that the response has ended
	return w.body.Close()
}

// recordCost records the cost of a finished request.
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

// finalCost returns the cost of a finished request, nil if it cost nothing. Normally that is the API's
// count. Costs that the API didn't count are replaced with the reserved amount: of the whole request if
// it counted nothing. The caller holds the mutex of the counts.
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

// buffer stores a part of a line or of a response that is not a stream, up to maxCounted bytes.
func (w *countedBody) buffer(p []byte) {
	if w.buffered = append(w.buffered, p...); len(w.buffered) > maxCounted {
		w.buffered, w.isLong = w.buffered[:0], true
		w.account.proxy.logOnce("a response of the API is too long to be counted: it counts as the maximum that it may cost")
	}
}

// events processes a part of a stream of events; nil means its end.
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
			w.reportBegin()
		}
		w.buffered, p = w.buffered[:0], rest
	}
}

// document processes a part of a response that is not a stream; nil means its end.
func (w *countedBody) document(p []byte) {
	if p != nil {
		w.buffer(p)
		return
	}
	w.counter.Whole(w.buffered)
	w.buffered = nil
}

// reportBegin signals once that a message has begun.
func (w *countedBody) reportBegin() {
	if w.begun || w.counter.Message() == nil {
		return
	}
	w.begun = true
	w.account.notify()
}

// notify signals to Watch that the counts have changed.
func (a *Account) notify() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}
