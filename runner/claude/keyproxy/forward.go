package keyproxy

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"strings"
	"time"
)

// handler forwards requests that show the credential and ask for what the agent CLI
// needs. It refuses all others.
func (p *Proxy) handler(errorLog *log.Logger) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     p.transport,
		FlushInterval: -1, // an answer is told while it is being made

		ModifyResponse: p.observe,
		ErrorLog:       errorLog,
		ErrorHandler:   p.unreachable,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.calls.enter() {
			refuse(w, http.StatusServiceUnavailable, "the run is over")
			return
		}
		defer p.calls.underway.Done()
		account := p.accounts.of(r)
		switch {
		case !p.admits(r):
			refuse(w, http.StatusUnauthorized, "not the credential of this run")
		case account == nil:
			refuse(w, http.StatusUnauthorized, "not the address of an invocation that is under way")
		case !served(r):
			refuse(w, http.StatusNotFound, "the key proxy does not forward this path")
		default:
			p.pass(forward, w, r, account)
		}
	})
}

// accountKey is where the context of a request has its account.
type accountKey struct{}

// observe notes what an answer of the API says, before it is passed on.
func (p *Proxy) observe(r *http.Response) error {
	p.pause.note(r)
	if a, ok := r.Request.Context().Value(accountKey{}).(*Account); ok && isMessages(r.Request) {
		a.meter(r)
	}
	return nil
}

// pass forwards a request of an account once it is here whole, and the budget allows it.
func (p *Proxy) pass(forward http.Handler, w http.ResponseWriter, r *http.Request, a *Account) {
	body, err := hold(w, r)
	if err != nil {
		p.unreadable(w, r, err)
		return
	}
	defer body.release()
	r = r.WithContext(context.WithValue(r.Context(), accountKey{}, a))
	if isMessages(r) {
		if !a.enter(w, r) {
			return
		}
		defer a.leave()
		r = a.outlive(r)
	}
	forward.ServeHTTP(w, r)
}

// admits says whether a request shows the credential of this run, as a key or as
// a token.
func (p *Proxy) admits(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return p.matches(r.Header.Get("X-Api-Key")) || p.matches(token)
}

func (p *Proxy) matches(shown string) bool {
	return subtle.ConstantTimeCompare([]byte(shown), []byte(p.credential)) == 1
}

// served says whether a path is one of those that the agent CLI asks for. Tools
// know the credential too: what else the key may open, like the files and batches
// of others, is not for them.
func served(r *http.Request) bool {
	switch asked := r.URL.EscapedPath(); r.Method {
	case http.MethodPost:
		return asked == messages || asked == messages+"/count_tokens"
	case http.MethodGet:
		return asked == "/v1/models" || model.MatchString(asked)
	}
	return false
}

// model is the path of one model: no dots alone, nothing escaped.
var model = regexp.MustCompile(`^/v1/models/[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

// rewrite sends a request to the API with the real credential. Should the API be
// this proxy itself, it will not be admitted with that.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.upstream)
	if isMessages(r.In) {
		// What is packed can't be counted as it passes.
		r.Out.Header.Set("Accept-Encoding", "identity")
	}
	r.Out.Header.Del("X-Api-Key")
	r.Out.Header.Del("Authorization")
	if p.options.APIKey != "" {
		r.Out.Header.Set("X-Api-Key", p.options.APIKey)
		return
	}
	r.Out.Header.Set("Authorization", "Bearer "+p.options.OAuthToken)
}

// unreachable answers a request that the API did not. The agent CLI takes it for
// a failure that passes, and tries again.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the client has left, or the invocation has ended
		panic(http.ErrAbortHandler) // the server closes the connection: an empty answer would look like one of the API
	}
	message := p.secrets.Text(fmt.Sprintf("reach the API at %s: %v", p.upstream.Host, err))
	p.tell(message)
	refuse(w, http.StatusBadGateway, message)
}

// kinds are the API's own names for what the proxy itself answers.
var kinds = map[int]string{
	http.StatusBadRequest:         "invalid_request_error",
	http.StatusUnauthorized:       "authentication_error",
	http.StatusNotFound:           "not_found_error",
	http.StatusBadGateway:         "api_error",
	http.StatusServiceUnavailable: "api_error",

	http.StatusRequestEntityTooLarge: "request_too_large",
}

// refuse answers in the form of the API's errors.
func refuse(w http.ResponseWriter, status int, message string) {
	type detail struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	body := struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{kinds[status], message}}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who has left hears nothing
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
