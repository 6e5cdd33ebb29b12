package keyproxy

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/state"
)

// handler forwards requests that show the credential and ask for what the agent CLI
// needs. It refuses all others.
func (p *Proxy) handler(errorLog *log.Logger) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     final{p.transport},
		FlushInterval: -1, // an answer is told while it is being made

		ModifyResponse: p.observe,
		ErrorLog:       errorLog,
		ErrorHandler:   p.unreachable,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = hasty{w}
		defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) }() // the connection may be used again much later
		account, leave := p.enter(r)
		if account == nil {
			p.vendors[0].refuse(w, http.StatusUnauthorized, "not the address of an invocation that is under way")
			return
		}
		defer leave()
		v := account.vendor
		service := v.api.Classify(r)
		switch {
		case !account.admits(r):
			v.refuse(w, http.StatusUnauthorized, "not the credential of this invocation")
		case service == Refused || r.Header.Get("Upgrade") != "": // what follows an upgrade can't be counted
			v.refuse(w, http.StatusNotFound, "the key proxy does not forward this path")
		default:
			p.pass(forward, w, r, &exchange{account: account, isPaid: service == Paid})
		}
	})
}

// exchange is a request that is forwarded, and its answer.
type exchange struct {
	account *Account
	isPaid  bool
	request Request
	// The rest is of a paid one.
	price  state.USD   // the most that the request may cost, as far as that is known
	passes chan bool   // receives once whether the request may pass; closed when the invocation is over
	isSent atomic.Bool // the API has received the whole request
	status int         // of the answer; 0 for none
	answer *answer     // nil if nothing is counted
}

// hasty writes to a client with a deadline: a client that reads nothing for a minute counts as gone, and the answer is
// still read to its end.
type hasty struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (h hasty) Write(p []byte) (int, error) {
	_ = http.NewResponseController(h.ResponseWriter).SetWriteDeadline(time.Now().Add(time.Minute))
	return h.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (h hasty) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// exchangeKey is where the context of a request has its exchange.
type exchangeKey struct{}

// exchangeOf returns what a request is a part of, which handler has let pass.
func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// observe notes what an answer of the API says, before it is passed on.
func (p *Proxy) observe(r *http.Response) error {
	e := exchangeOf(r.Request)
	e.account.notePause(r)
	defer p.mask(r)
	if e.status = r.StatusCode; e.isPaid && e.status < http.StatusMultipleChoices {
		e.meter(r)
	}
	return nil
}

// pass forwards a request of an account once it is here whole, and the budget allows it.
func (p *Proxy) pass(forward http.Handler, w http.ResponseWriter, r *http.Request, e *exchange) {
	a := e.account
	turn, cancel := context.WithTimeoutCause(r.Context(), longestTurn, errBusy)
	defer cancel()
	release, err := a.hold(turn, w, r)
	if err != nil {
		p.unreadable(w, r, a.vendor, err)
		return
	}
	defer release()
	if err := a.read(r, e); err != nil {
		a.vendor.refuse(w, http.StatusBadRequest, "raymond: "+err.Error())
		return
	}
	ctx := context.WithValue(r.Context(), exchangeKey{}, e)
	if e.isPaid {
		e.price = p.reserve(e.request)
		if !e.isAdmitted(turn, w, r) {
			return
		}
		defer e.leave()
		defer e.settle()
		ctx = context.WithoutCancel(ctx) // what an answer costs that nobody reads counts all the same
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(a.life, end)()
	forward.ServeHTTP(w, r.WithContext(ctx))
}

// read reads what a request asks for, and refuses what must not pass.
func (a *Account) read(r *http.Request, e *exchange) (err error) {
	if !e.isPaid && r.ContentLength == 0 {
		return nil
	}
	body, _ := r.GetBody()
	if e.request, err = a.vendor.api.Read(r, body); err != nil {
		return err
	}
	e.request.Size = r.ContentLength
	if e.isPaid {
		if err := a.checkPrice(e.request.Model); err != nil {
			return err
		}
	}
	return a.check(e.request)
}

// admits says whether a request shows the credential of the account.
func (a *Account) admits(r *http.Request) bool {
	for _, shown := range a.vendor.api.ShownCredentials(r) {
		if subtle.ConstantTimeCompare([]byte(shown), []byte(a.credential)) == 1 {
			return true
		}
	}
	return false
}

// rewrite sends a request to the API with the real credential. Should the API be
// this proxy itself, it will not be admitted with that.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	e := exchangeOf(r.In)
	v := e.account.vendor
	r.SetURL(v.upstream)
	maps.DeleteFunc(r.Out.Header, func(name string, _ []string) bool { return !v.forwards(name) })
	// A compressed answer can be neither counted nor masked as it passes.
	r.Out.Header.Set("Accept-Encoding", "identity")
	if e.request.Size > 0 { // the API must read the body as the proxy did
		r.Out.Header.Set("Content-Type", "application/json")
	}
	v.api.Sign(r.Out, v.credential)
}

// unreachable answers a request that the API did not. The agent CLI takes it for
// a failure that passes, and tries again.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client has left, or the invocation has ended
		panic(http.ErrAbortHandler) // the server closes the connection: an empty answer would look like one of the API
	}
	v := exchangeOf(r).account.vendor
	message := p.secrets.Text(fmt.Sprintf("reach the API at %s: %v", v.upstream.Host, err))
	p.tell(message)
	v.refuse(w, http.StatusBadGateway, message)
}

// refuse answers in the form of the API's errors.
func (v *vendor) refuse(w http.ResponseWriter, status int, message string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(longestRead)) // the server still reads the rest of the body
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v.api.ErrorBody(status, message)) // who has left hears nothing
}

// newTransport returns the way to the API. An answer may take as long as it takes:
// the agent CLI has limits of its own, and leaves when they are over.
func newTransport(authorities *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 64,
		DisableCompression:  true, // what the client asked for is passed on as it comes
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}
