package keyproxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

const (
	// longestPart is how long an event of a stream may be, or an answer that is none, to be counted:
	// some APIs repeat the request in it.
	longestPart = maxBody + 4<<20
	// longestRest is how much is read of an answer whose client has left.
	longestRest = 64 << 20
)

// meter makes an answer of the API one that is counted as it passes.
func (a *Account) meter(r *http.Response, e *exchange) {
	if r.StatusCode != http.StatusOK {
		return
	}
	w := &answer{body: r.Body, account: a, asked: e, left: r.ContentLength, counter: a.vendor.api.Counter(e.request)}
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	switch kind = strings.TrimSpace(kind); {
	case !slices.Contains([]string{"", "identity"}, r.Header.Get("Content-Encoding")):
		a.lose("an answer of the API is packed (" + r.Header.Get("Content-Encoding") + ")")
		return
	case kind == "text/event-stream":
		w.take = w.events
	case kind == "application/json":
		w.take = w.whole
	default:
		a.lose("an answer of the API is neither JSON nor a stream of events (" + kind + ")")
		return
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	a.counts.open[w] = struct{}{}
	r.Body = w
}

// lose notes that an answer is not counted.
func (a *Account) lose(why string) {
	a.counts.mu.Lock()
	a.counts.blind = true
	a.counts.mu.Unlock()
	a.proxy.tellOnce(why + ": what is used is taken from the agent CLI's own output")
}

// answer is the body of an answer that is counted while it is read. What is read is
// what the API sent, when it sent it.
type answer struct {
	body    io.ReadCloser
	account *Account
	asked   *exchange

	// The rest is guarded by account.counts.mu.
	take    func([]byte) // looks at bytes as they pass
	kept    []byte       // the beginning of a line, or of an answer that is no stream
	left    int64        // bytes that are still to come; below zero when nobody knows
	counter Counter
	isLong  bool // there was more than longestPart at once
	begun   bool // the model's message has begun, and who wants to know has been told
}

// Read implements io.Reader.
func (w *answer) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	counts := &w.account.counts
	counts.mu.Lock()
	w.take(p[:n])
	if w.left > 0 {
		w.left -= int64(n)
	}
	if err != nil || w.left == 0 {
		w.end()
	}
	counts.mu.Unlock()
	return n, err
}

// Close implements io.Closer. The client may have left before the answer's end: the rest of it
// is paid for, too, and read.
func (w *answer) Close() error {
	_, _ = io.Copy(io.Discard, io.LimitReader(w, longestRest)) // what fails has ended
	w.account.counts.mu.Lock()
	w.end()
	w.account.counts.mu.Unlock()
	return w.body.Close()
}

// end takes an answer that nothing more comes of into the account's sums.
func (w *answer) end() {
	counts := &w.account.counts
	if _, open := counts.open[w]; !open {
		return
	}
	w.take(nil)
	delete(counts.open, w)
	m := w.counter.Message()
	switch {
	case w.isLong, w.account.life.Err() != nil: // the latter is why it has ended
		m = Unended(m, w.asked.most)
	case m != nil:
		price, _ := w.account.proxy.price(m.Usage.Model)
		m.Usage.Surcharge = m.Usage.Surcharge.Plus(price.Surcharge(m.Usage))
	}
	if m != nil {
		if m.Usage.HasFees {
			w.account.proxy.tellOnce("an answer of the API counts fees of which nobody knows the price: what the invocation costs is unknown")
		}
		counts.sums = counts.sums.Add(m)
		counts.last[w.asked.request.Model] = counted{m.Usage.Input + m.Usage.CacheWrite + m.Usage.CacheRead, w.asked.request.text()}
	}
	w.account.notify()
	w.kept = nil
	w.take = func([]byte) {}
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
	w.begin()
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
