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
	// longestPart is how long an event of a stream may be, or an answer that is none, to be counted:
	// some APIs repeat the request in it.
	longestPart = maxBody + 4<<20
	// longestRest is how much is read of an answer whose client has left.
	longestRest = 64 << 20
)

// meter counts the tokens of an answer while the answer passes. An answer that can't be counted is booked as
// the amount that was reserved.
func (e *exchange) meter(r *http.Response) {
	a := e.account
	w := &answer{body: r.Body, account: a, counter: a.vendor.api.Counter(e.request), take: func([]byte) {}}
	e.answer, r.Body = w, w
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	switch kind = strings.TrimSpace(kind) + strings.TrimPrefix(r.Header.Get("Content-Encoding"), "identity"); kind {
	case "text/event-stream":
		w.take = w.events
	case "application/json":
		w.take = w.whole
	default:
		a.proxy.tellOnce("an answer of the API is neither JSON nor a stream of events (" + kind + "): it is booked as the most that it may cost")
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	a.counts.open[w] = struct{}{}
}

// answer is the body of an answer that is counted while it is read. What is read is
// what the API sent, when it sent it.
type answer struct {
	body    io.ReadCloser
	account *Account

	// The rest is guarded by account.counts.mu.
	take    func([]byte) // looks at bytes as they pass
	kept    []byte       // the beginning of a line, or of an answer that is no stream
	counter Counter
	isLong  bool // there was more than longestPart at once
	isOver  bool // the API has sent all of it, or has broken it off
	begun   bool // the model's message has begun, and who wants to know has been told
}

// Read implements io.Reader.
func (w *answer) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.account.counts.mu.Lock()
	defer w.account.counts.mu.Unlock()
	w.take(p[:n])
	if err != nil && !w.isOver {
		w.isOver = errors.Is(err, io.EOF) || w.account.life.Err() == nil
		w.take(nil)
		w.take = func([]byte) {}
	}
	return n, err
}

// Close implements io.Closer. The client may have left before the answer's end: the rest of it
// is paid for, too, and read.
func (w *answer) Close() error {
	_, _ = io.Copy(io.Discard, io.LimitReader(w, longestRest)) // what fails has ended
	return w.body.Close()
}

// settle books the cost of a finished request.
func (e *exchange) settle() {
	a := e.account
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	if m := e.booked(); m != nil {
		a.counts.sums = a.counts.sums.Add(m)
	}
	delete(a.counts.open, e.answer)
	a.notify()
}

// booked returns the cost of a finished request; nil for none. It is what the API has counted. Charges that the API
// does not count cost what was reserved: the whole request, if the API has counted nothing. The caller holds the
// mutex of the counts.
func (e *exchange) booked() *Message {
	if e.status >= http.StatusMultipleChoices || e.status == 0 && !e.isSent.Load() {
		return nil
	}
	var m *Message
	if e.answer != nil {
		m = e.answer.counter.Message()
	}
	if m == nil || !m.begun {
		return &Message{Usage: state.Usage{Model: e.request.Model}, counted: true, reserved: e.price}
	}
	p := e.account.proxy
	price, _ := p.price(m.Usage.Model)
	most, isCut := m.Usage, e.answer.isLong || !e.answer.isOver
	most.Output = max(most.Output, e.request.output())
	m.Usage.Surcharge = m.Usage.Surcharge.Plus(price.Surcharge(m.Usage))
	if isCut {
		m.counted = true
		m.reserved = price.Cost(most).Plus(price.Surcharge(most)).Plus(e.request.fees()) - price.Cost(m.Usage)
	}
	if m.Usage.HasFees {
		p.tellOnce("an answer of the API counts something that has no price: what the invocation costs is unknown")
	}
	if m.Usage.HasFees || isCut && e.request.isAlone() {
		m.reserved = max(m.reserved, e.price-price.Cost(m.Usage))
	}
	return m
}

// keep keeps more of a line or of an answer, as long as it may be counted.
func (w *answer) keep(p []byte) {
	if w.kept = append(w.kept, p...); len(w.kept) > longestPart {
		w.kept, w.isLong = w.kept[:0], true
		w.account.proxy.tellOnce("an answer of the API is too long to be counted: it counts as the most that it may cost")
	}
}

// events takes pieces of a stream of events; nil at its end.
func (w *answer) events(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(w.kept) > 0 || !ended {
			w.keep(line)
			line = w.kept
		}
		if !ended {
			return
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			w.counter.Event(bytes.TrimSpace(data))
			w.begin()
		}
		w.kept, p = w.kept[:0], rest
	}
}

// whole takes pieces of an answer that is no stream; nil at its end.
func (w *answer) whole(p []byte) {
	if p != nil {
		w.keep(p)
		return
	}
	w.counter.Whole(w.kept)
	w.kept = nil
}

// begin lets those know who want to that a message has begun.
func (w *answer) begin() {
	if w.begun || w.counter.Message() == nil {
		return
	}
	w.begun = true
	w.account.notify()
}

// notify lets those know who want to that more was counted.
func (a *Account) notify() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}
