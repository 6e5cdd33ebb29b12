// Package keyproxy keeps API keys of models away from agents: an agent CLI gets a credential that is
// valid only on this machine and only while the CLI runs. It sends its requests to a proxy in this
// process, which replaces the credential with the real one. One proxy serves the APIs of all vendors,
// with one budget.
//
// The package knows HTTP. The package of each agent CLI implements the interface API for its vendor. The
// proxy holds the body of a request in memory until it has been forwarded. It counts the tokens in
// responses as they pass, for each invocation. When the limit set by SetAllowance is reached, it stops
// forwarding requests that cost money. Message, Sums and Layout are also used to count tokens in the output
// of agent CLIs. If a message never ends, its input and its output so far are counted.
package keyproxy

import (
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
	"golang.org/x/sync/semaphore"
)

// Options configure a proxy.
type Options struct {
	// Vendors are the APIs to which requests are forwarded, each with a credential. No two may have the
	// same backend.
	Vendors []Vendor
	// Environ is the part of the job's environment that agent CLIs get. Account.Env extends its
	// NO_PROXY. Its NODE_EXTRA_CA_CERTS names additional certificate authorities for the APIs. The
	// proxy for outgoing requests and the system's authorities come from this process's own environment,
	// as usual for net/http.
	Environ []string
	// Price returns the price of a model. It returns false if the price is unknown. Several goroutines may
	// call it at the same time. If it is nil, all prices are unknown.
	Price func(model string) (state.Price, bool)
	// IsOpen is true if agents may use the network themselves. If it is false, the proxy rejects requests
	// that would make a vendor use the network for them, and requests with unknown fields.
	IsOpen bool
	// Tools lists the tools that vendors may run for agents if IsOpen is true, by their names in the
	// APIs, for example web_search.
	Tools []string
	// Log receives errors, one line per call and without secrets. Several goroutines may call it at the
	// same time. If it is nil, errors are not logged.
	Log func(line string)
}

// Proxy is a running proxy. Several goroutines may use it at the same time.
type Proxy struct {
	options   Options
	vendors   []*vendor
	address   string         // "127.0.0.1:" and the port
	addresses *regexp.Regexp // matches the proxy's address, with or without an account's path
	secrets   *secrets.Set
	server    *http.Server
	transport *http.Transport
	served    chan struct{} // closed when the server has stopped accepting connections

	room     *semaphore.Weighted // memory for the bodies of requests
	accounts accounts            // the accounts of the running invocations, and their budget
	pending  sync.WaitGroup      // counts forwarded and waiting requests

	logMutex sync.Mutex // guards logged
	logged   []string   // the lines that logOnce has logged
}

// Start starts a proxy on a free port of 127.0.0.1. It returns an error if an option is invalid or if no
// port is available. The error never contains a secret.
func Start(o Options) (*Proxy, error) {
	p := &Proxy{
		options: o, served: make(chan struct{}), room: semaphore.NewWeighted(maxHeld),
		accounts: accounts{byToken: map[string]*Account{}, unpaidClosed: map[*Account]struct{}{}},
	}
	values := map[string]string{}
	for _, v := range o.Vendors {
		one, err := newVendor(v)
		if err != nil {
			return nil, fmt.Errorf("start key proxy for %s: %w", v.API.Backend(), err)
		}
		p.vendors = append(p.vendors, one)
		values[one.api.Backend()] = one.credential.Text
	}
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return nil, fmt.Errorf("start key proxy: %w", err)
	}
	p.address = l.Addr().String()
	p.addresses = regexp.MustCompile(`(?:http://)?` + regexp.QuoteMeta(p.address) + `(?:` + regexp.QuoteMeta(prefix) + `[a-z]+/[A-Z2-7]{26})?`)
	p.secrets, _ = secrets.New(values)
	// The transport sets no time limit for responses, because the agent CLI has its own limits and closes the
	// connection when they are reached.
	p.transport = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: p.authorities(), MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 64,
		DisableCompression:  true, // the response is passed on in the encoding that the client requested
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	errorLog := log.New(logWriter{p}, "", 0)
	p.server = &http.Server{
		Handler: p.handler(errorLog), ErrorLog: errorLog,
		// The timeouts are long, because a client could otherwise send a request on a connection that the
		// server is just closing. That can happen to an idle connection that is used again, and to a new
		// connection of a client that was busy or stopped before it sent its request.
		IdleTimeout: time.Hour, ReadHeaderTimeout: time.Hour, MaxHeaderBytes: 64 << 10,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l) // returns after Close
	}()
	return p, nil
}

// Address returns the address on which the proxy listens: 127.0.0.1, a colon and the port.
func (p *Proxy) Address() string { return p.address }

// Close stops the proxy, aborts pending requests, and returns when all requests have ended.
func (p *Proxy) Close() error {
	p.accounts.mu.Lock()
	all := p.accounts.unpaid()
	p.accounts.mu.Unlock()
	for _, a := range all {
		a.refuseRequests()
		a.end()
	}
	err := p.server.Close()
	<-p.served
	p.pending.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// log masks the secrets in a line and logs it, if the proxy has a log.
func (p *Proxy) log(line string) {
	if p.options.Log != nil {
		p.options.Log(p.secrets.Text(line))
	}
}

// maxLoggedOnce limits how many lines logOnce logs, because agents can influence their text.
const maxLoggedOnce = 20

// logOnce logs a line unless it has logged the same line before.
func (p *Proxy) logOnce(line string) {
	p.logMutex.Lock()
	defer p.logMutex.Unlock()
	if len(p.logged) < maxLoggedOnce && !slices.Contains(p.logged, line) {
		p.logged = append(p.logged, line)
		p.log(line)
	}
}

// logWriter is the writer of net/http's error log. It passes each message to the proxy's log.
type logWriter struct{ p *Proxy }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	w.p.log(strings.TrimSpace(string(line)))
	return len(line), nil
}
