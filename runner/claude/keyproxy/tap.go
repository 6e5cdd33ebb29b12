package keyproxy

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/claude/tally"
)

// messages is the path at which the API answers with what costs money.
const messages = "/v1/messages"

func isMessages(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, messages)
}

const (
	// longestEvent is how much of a line of a stream is looked at. Those that tell
	// usage are shorter.
	longestEvent = 64 << 10
	// longestAnswer is how long an answer may be that is no stream.
	longestAnswer = 4 << 20
)

// meter makes an answer of the API one that is counted as it passes.
func (a *Account) meter(r *http.Response) {
	if r.StatusCode != http.StatusOK {
		return
	}
	w := &answer{body: r.Body, account: a, left: r.ContentLength}
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	switch kind = strings.TrimSpace(kind); {
	case !slices.Contains([]string{"", "identity"}, r.Header.Get("Content-Encoding")):
		a.lose("an answer of the API is packed (" + r.Header.Get("Content-Encoding") + ")")
		return
	case kind == "text/event-stream":
		w.take = w.events
	case kind == "application/json":
		w.take, w.isWhole = w.whole, true
	default:
		a.lose("an answer of the API is neither JSON nor a stream of events (" + kind + ")")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[w] = struct{}{}
	r.Body = w
}

// lose notes that an answer is not counted.
func (a *Account) lose(why string) {
	a.mu.Lock()
	a.blind = true
	a.mu.Unlock()
	a.proxy.uncounted(why)
}

// uncounted says once why answers are not counted.
func (p *Proxy) uncounted(why string) {
	p.once.Do(func() { p.tell(why + ": what is used is taken from the agent CLI's own output") })
}

// answer is the body of an answer that is counted while it is read. What is read is
// what the API sent, when it sent it.
type answer struct {
	body    io.ReadCloser
	account *Account
	isWhole bool // it is no stream

	// The rest is guarded by account.mu.
	take    func([]byte)   // looks at bytes as they pass
	kept    []byte         // the beginning of a line, or of an answer that is no stream
	cut     bool           // kept is not all of it
	left    int64          // bytes that are still to come; below zero when nobody knows
	message *tally.Message // nil before it begins
}

// Read implements io.Reader.
func (w *answer) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	a := w.account
	a.mu.Lock()
	w.take(p[:n])
	if w.left > 0 {
		w.left -= int64(n)
	}
	if err != nil || w.left == 0 {
		w.end()
	}
	a.mu.Unlock()
	return n, err
}

// Close implements io.Closer. The client may have left before the answer's end. One
// that is no stream tells its tokens only at its end, and is paid for when it begins:
// the rest of it is read.
func (w *answer) Close() error {
	if w.isWhole {
		_, _ = io.Copy(io.Discard, io.LimitReader(w, longestAnswer)) // what fails was not counted
	}
	w.account.mu.Lock()
	w.end()
	w.account.mu.Unlock()
	return w.body.Close()
}

// end takes an answer that nothing more comes of into the account's sums.
func (w *answer) end() {
	a := w.account
	if _, open := a.open[w]; !open {
		return
	}
	w.take(nil)
	delete(a.open, w)
	if w.message != nil {
		a.sums = a.sums.Add(w.message)
	}
	w.kept = nil
	w.take = func([]byte) {}
}

// keep adds to what is kept, up to a length.
func (w *answer) keep(p []byte, most int) {
	room := max(most-len(w.kept), 0)
	w.cut = w.cut || len(p) > room
	w.kept = append(w.kept, p[:min(len(p), room)]...)
}

// events takes pieces of a stream of events; nil at its end.
func (w *answer) events(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		switch {
		case !ended:
			w.keep(p, longestEvent)
			return
		case len(w.kept) > 0 || w.cut:
			w.keep(line, longestEvent)
			line = w.kept
		}
		w.event(line)
		w.kept, w.cut, p = w.kept[:0], false, rest
	}
}

// event takes a line of a stream.
func (w *answer) event(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case !ok:
		return
	case !tally.Counts(data):
		w.message.Wrote(data)
		return
	}
	var e tally.Event
	if json.Unmarshal(bytes.TrimSpace(data), &e, tally.Loose) != nil {
		return
	}
	switch {
	case e.Type == "message_start" && w.message == nil:
		w.begin(e.Message.Message(false))
	case e.Type == "message_delta" && w.message != nil:
		w.message.Took(e.Usage)
	}
}

// whole takes pieces of an answer that is no stream; nil at its end.
func (w *answer) whole(p []byte) {
	w.keep(p, longestAnswer)
	if p != nil {
		return
	}
	if w.cut {
		w.account.blind = true
		w.account.proxy.uncounted("an answer of the API is too long to be counted")
		return
	}
	var m tally.Answer
	if json.Unmarshal(w.kept, &m, tally.Loose) == nil && m.Type == "message" {
		w.begin(m.Message(true))
	}
}

// begin notes a message and lets those know who want to.
func (w *answer) begin(m *tally.Message) {
	w.message = m
	select {
	case w.account.began <- struct{}{}:
	default:
	}
}
