// Package keyproxy keeps API keys of models away from agents: an agent CLI gets a credential that is
// valid only on this machine and only while the CLI runs. It sends its requests to a proxy in this
// process, which replaces the credential with the real one. One proxy serves the APIs of all vendors,
// with one budget.
//
// The package knows HTTP; the package of each agent CLI implements the interface API for its vendor.
// The proxy holds the body of a request in memory until it has been forwarded. It counts the tokens in
// responses as they pass, for each invocation. When the limit set by SetAllowance is reached, it stops
// forwarding requests that cost money. The counting (Message, Sums, Layout) is also used for the output
// of agent CLIs: a message that never ends is counted with its input and its output so far.
package keyproxy

import (
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
	// NO_PROXY, and NODE_EXTRA_CA_CERTS names additional certificate authorities for the APIs. The
	// outgoing proxy and the system's authorities are found by net/http, as usual for this process.
	Environ []string
	// Price returns the price of a model, and false if it is unknown. It may be nil; then SetAllowance limits
	// nothing. It may be called by several goroutines at once.
	Price func(model string) (state.Price, bool)
	// IsOpen is true if agents may use the network themselves. If they may not, the proxy refuses
	// requests that would make a vendor use the network for them, and requests with unknown fields.
	IsOpen bool
	// Tools are the tools that vendors may run for agents if the network is open, by the names in their
	// APIs, for example web_search.
	Tools []string
	// Log gets errors, one line at a time and without secrets. It may be nil. It may be called by
	// several goroutines at once.
	Log func(line string)
}

// Proxy is a running proxy. It may be used by several goroutines at once.
type Proxy struct {
	options   Options
	vendors   []*vendor
	address   string         // "127.0.0.1:" and the port
	addresses *regexp.Regexp // matches the address in a text
	secrets   *secrets.Set
	server    *http.Server
	transport *http.Transport
	served    chan struct{} // closed when no connections are accepted any more

	room     *semaphore.Weighted // memory for bodies of requests
	accounts accounts            // of the running invocations, and their budget
	pending  sync.WaitGroup      // pending requests

	logMutex sync.Mutex // guards logged
	logged   []string   // lines that logOnce has logged
}

// Start starts a proxy on a free port of 127.0.0.1. The error names the invalid option and never
// contains a secret.
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
	p.transport = newTransport(p.authorities())
	p.serve(l)
	return p, nil
}

// Address returns the address on which the proxy listens: 127.0.0.1, a colon and the port.
func (p *Proxy) Address() string { return p.address }

func (p *Proxy) serve(l net.Listener) {
	errorLog := log.New(logWriter{p}, "", 0)
	p.server = &http.Server{
		Handler: p.handler(errorLog), ErrorLog: errorLog,
		// The timeouts are long because a client must not use a connection that the server is just
		// closing: neither a reused connection, nor a connection that it opened before it was busy, or
		// stopped, for a while.
		IdleTimeout: time.Hour, ReadHeaderTimeout: time.Hour, MaxHeaderBytes: 64 << 10,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l) // returns after Close
	}()
}

// Close stops the proxy, aborts pending requests, and returns when everything has ended.
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

// log logs a line after it has removed secrets.
func (p *Proxy) log(line string) {
	if p.options.Log != nil {
		p.options.Log(p.secrets.Text(line))
	}
}

// maxLoggedOnce bounds the lines that logOnce logs, because agents can choose their text.
const maxLoggedOnce = 20

// logOnce logs a line unless it has been logged before.
func (p *Proxy) logOnce(line string) {
	p.logMutex.Lock()
	defer p.logMutex.Unlock()
	if len(p.logged) < maxLoggedOnce && !slices.Contains(p.logged, line) {
		p.logged = append(p.logged, line)
		p.log(line)
	}
}

// logWriter passes messages of net/http to the log.
type logWriter struct{ p *Proxy }

func (w logWriter) Write(line []byte) (int, error) {
	w.p.log(strings.TrimSpace(string(line)))
	return len(line), nil
}
