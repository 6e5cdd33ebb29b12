package keyproxy

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// handler returns the handler for all requests. It forwards requests that the agent CLI needs and that
// contain the account's credential. It rejects all others.
func (p *Proxy) handler(errorLog *log.Logger) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     finalTransport{p.transport},
		FlushInterval: -1, // a response is passed on while it is being generated

		ModifyResponse: p.handleResponse,
		ErrorLog:       errorLog,
		ErrorHandler:   p.unreachable,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = deadlineWriter{w}
		// Reset the deadline, because the connection may be used again much later.
		defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }()
		account, leave := p.findAccount(r)
		if account == nil {
			p.vendors[0].refuse(w, http.StatusUnauthorized, "this address belongs to no running invocation")
			return
		}
		defer leave()
		v := account.vendor
		service := v.api.Classify(r)
		switch {
		case !account.isAuthorized(r):
			v.refuse(w, http.StatusUnauthorized, "wrong credential for this invocation")
		// After an upgrade, the data could not be counted.
		case service == Refused || r.Header.Get("Upgrade") != "":
			v.refuse(w, http.StatusNotFound, "the key proxy does not forward this path")
		default:
			p.pass(forward, w, r, &exchange{account: account, isPaid: service == Paid})
		}
	})
}

// exchange is a request, from its arrival until it is forwarded and its response is complete.
type exchange struct {
	account *Account
	isPaid  bool
	request Request
	// The other fields are used only for a paid request.
	price state.USD // the known maximum cost of the request
	// passes receives true if the request may pass, and false if the budget is exhausted. It is closed
	// if the invocation has ended.
	passes chan bool
	isSent atomic.Bool  // the whole request has been sent to the API
	status int          // HTTP status of the response; 0 without a response
	body   *countedBody // nil if the response is not counted
}

// deadlineWriter is a response writer that renews a deadline of one minute with every write. If a client
// reads nothing for that long, the write fails and the client counts as gone. The rest of the API's response
// is then still read, so that its tokens are counted.
type deadlineWriter struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (h deadlineWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(h.ResponseWriter).SetWriteDeadline(time.Now().Add(time.Minute))
	return h.ResponseWriter.Write(p)
}

// Unwrap returns the wrapped writer, through which http.ResponseController reaches the connection.
func (h deadlineWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// exchangeKey is the context key under which a forwarded request stores its exchange.
type exchangeKey struct{}

// exchangeOf returns the exchange of a request that pass has forwarded. It panics for other requests.
func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// handleResponse processes the header of the API's response before the response is passed on. It stores
// the status and, after a status 429 or 5xx, the Retry-After time. It makes the body count tokens and mask
// secrets as it is read.
func (p *Proxy) handleResponse(r *http.Response) error {
	e := exchangeOf(r.Request)
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= 500 {
		now := time.Now()
		if wait, ok := parseRetryAfter(r.Header.Get("Retry-After"), now); ok {
			e.account.counts.mu.Lock()
			e.account.counts.retryAfter = now.Add(wait)
			e.account.counts.mu.Unlock()
		}
	}
	if e.status = r.StatusCode; e.isPaid && e.status < http.StatusMultipleChoices {
		e.startCounting(r)
	}
	// Some gateways repeat parts of the request, with the API key, in the response.
	for _, values := range r.Header {
		for i := range values {
			values[i] = p.secrets.Text(values[i])
		}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{p.secrets.MaskReader(r.Body), r.Body}
	return nil
}

// pass reads the body of a request completely, waits until the budget permits the request, and forwards it.
func (p *Proxy) pass(forward http.Handler, w http.ResponseWriter, r *http.Request, e *exchange) {
	a := e.account
	turn, cancel := context.WithTimeoutCause(r.Context(), maxWait, errBusy)
	defer cancel()
	release, err := a.readBody(turn, w, r)
	if err != nil {
		p.unreadable(w, r, a.vendor, err)
		return
	}
	defer release()
	if err := a.parse(r, e); err != nil {
		a.vendor.refuse(w, http.StatusBadRequest, "raymond: "+err.Error())
		return
	}
	ctx := context.WithValue(r.Context(), exchangeKey{}, e)
	if e.isPaid {
		e.price = p.reserve(e.request)
		if !e.waitForTurn(turn, w, r) {
			return
		}
		defer e.release()
		defer e.recordCost()
		// Even if the client has left, the response must be paid for, so it is read and counted.
		ctx = context.WithoutCancel(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(a.life, end)()
	forward.ServeHTTP(w, r.WithContext(ctx))
}

// parse parses the body of a request into e.request. It returns an error if the request must not pass.
func (a *Account) parse(r *http.Request, e *exchange) (err error) {
	if !e.isPaid && r.ContentLength == 0 {
		return nil
	}
	body, _ := r.GetBody()
	if e.request, err = a.vendor.api.Read(r, body); err != nil {
		return err
	}
	e.request.Size = r.ContentLength
	if e.isPaid {
		l := &a.proxy.accounts
		l.mu.Lock()
		isLimited := l.left != nil
		l.mu.Unlock()
		if _, ok := a.proxy.price(e.request.Model); e.request.Model != "" && !ok && isLimited {
			return fmt.Errorf("the model %q has no known price, but the run has a budget; set its price with the input prices", e.request.Model)
		}
	}
	return a.check(e.request)
}

// isAuthorized reports whether a request contains the account's credential.
func (a *Account) isAuthorized(r *http.Request) bool {
	for _, shown := range a.vendor.api.ShownCredentials(r) {
		if subtle.ConstantTimeCompare([]byte(shown), []byte(a.credential)) == 1 {
			return true
		}
	}
	return false
}

// rewrite directs a request to the API, removes unknown headers and adds the real credential. If a wrong
// configuration names this proxy itself as the API, there is no endless loop: the proxy rejects the
// forwarded request, because the real credential is not an account's credential.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	e := exchangeOf(r.In)
	v := e.account.vendor
	r.SetURL(v.upstream)
	maps.DeleteFunc(r.Out.Header, func(name string, _ []string) bool { return !v.forwards(name) })
	// A compressed response can be neither counted nor masked as it passes.
	r.Out.Header.Set("Accept-Encoding", "identity")
	// The type makes the API parse the body as JSON, as the proxy did.
	if e.request.Size > 0 {
		r.Out.Header.Set("Content-Type", "application/json")
	}
	v.api.Sign(r.Out, v.credential)
}

// unreachable handles a request that got no response from the API. It responds with status 502, which the
// agent CLI treats as a temporary failure and retries. If the client has left or the invocation has ended,
// it aborts the connection.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client has left or the invocation has ended
		// This closes the connection. The client would take an empty response for the API's.
		panic(http.ErrAbortHandler)
	}
	v := exchangeOf(r).account.vendor
	message := p.secrets.Text(fmt.Sprintf("reach the API at %s: %v", v.upstream.Host, err))
	p.log(message)
	v.refuse(w, http.StatusBadGateway, message)
}

// refuse rejects a request: it responds with the status and with an error body in the API's format.
func (v *vendor) refuse(w http.ResponseWriter, status int, message string) {
	// After the response, the server still reads the remaining body.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v.api.ErrorBody(status, message)) // fails if the client has left
}

// finalTransport is a transport that returns only the final response. It drops informational responses,
// such as early hints, and trailers. The proxy would not mask secrets in these, and no client needs them.
type finalTransport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (f finalTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := &exchangeOf(r).isSent
	answer, err := f.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(noValues{r.Context()}, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(sent.Load() || w.Err == nil) },
	})))
	if err != nil {
		return nil, err
	}
	last := *answer // a copy, because the transport later adds trailers to the original
	last.Request, last.Trailer = r, nil
	return &last, nil
}

// noValues hides the values of a context. One of these values is a client trace of httputil.ReverseProxy,
// which would forward informational responses.
type noValues struct{ context.Context }

// Value returns nil for every key.
func (noValues) Value(any) any { return nil }

// maxRetryAfter is the longest wait that an API can request.
const maxRetryAfter = 365 * 24 * time.Hour

// parseRetryAfter parses the value of a Retry-After header, which is a number of seconds or a date. It
// returns false if the value is neither.
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return time.Duration(min(n, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter), true
	}
	return 0, false
}

// RetryAfter returns when the API accepts the next request, according to the last failed response with a
// valid Retry-After header. It returns the zero time if there was none.
func (a *Account) RetryAfter() time.Time {
	if a == nil {
		return time.Time{}
	}
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	return a.counts.retryAfter
}
