// Package keyproxy keeps the keys of models from what agents run: an agent CLI gets a
// credential that is valid only on this machine and only while it runs, and talks to a
// proxy here, which replaces it by the real one. There is one proxy for the APIs of all
// vendors, and one budget.
//
// It knows HTTP; what is particular to a vendor comes from the package of its agent CLI, by
// the interface API. It holds the body of a request until it has been forwarded. In answers
// it counts the tokens as they pass, for the invocation that asked. When these have used up
// what Allow says, it forwards nothing more that costs money. The counting (Message, Sums, Layout) is also for what an agent
// CLI prints: it counts a message that never ends, too, by what it began with and its output so far.
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

// Options say where requests go and with what.
type Options struct {
	// Vendors are the APIs that requests go to, each with a credential, and no two with
	// the same backend.
	Vendors []Vendor
	// Environ is the environment of the job as far as agent CLIs get it: Account.Env
	// extends its NO_PROXY, and NODE_EXTRA_CA_CERTS names further authorities for the
	// APIs. The proxy to the outside and the system's authorities are those of this
	// process, as net/http finds them.
	Environ []string
	// Price returns what a model costs, and false where nobody knows; nil knows
	// nothing. Without it Allow limits nothing. It may be called by several goroutines
	// at once.
	Price func(model string) (state.Price, bool)
	// IsOpen says that agents may reach the network by themselves. Where they may not, nothing
	// passes by which the vendors would reach it for them, and no field that isn't known.
	IsOpen bool
	// Tools are what the vendors may run for agents, such as web_search, by the names in their APIs,
	// where the network is open.
	Tools []string
	// Log gets what goes wrong, a line at a time and without secrets; nil drops it.
	// It may be called by several goroutines at once.
	Log func(line string)
}

// Proxy is a running proxy. It may be used by many goroutines.
type Proxy struct {
	options   Options
	vendors   []*vendor
	address   string         // "127.0.0.1:" and the port
	own       *regexp.Regexp // finds the address in a text
	secrets   *secrets.Set
	server    *http.Server
	transport *http.Transport
	served    chan struct{} // closed when no connection is accepted any more

	room     *semaphore.Weighted // for bodies of requests
	accounts accounts            // of the invocations under way, and what they may use
	underway sync.WaitGroup      // requests

	telling sync.Mutex // guards told
	told    []string   // lines that are logged once
}

// Start starts a proxy on a free port of 127.0.0.1. The error says what is wrong
// with the options, and never has a secret in it.
func Start(o Options) (*Proxy, error) {
	p := &Proxy{
		options: o, served: make(chan struct{}), room: semaphore.NewWeighted(maxHeld),
		accounts: accounts{byToken: map[string]*Account{}, unbooked: map[*Account]struct{}{}},
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
	p.own = regexp.MustCompile(`(?:http://)?` + regexp.QuoteMeta(p.address) + `(?:` + regexp.QuoteMeta(prefix) + `[a-z]+/[A-Z2-7]{26})?`)
	p.secrets, _ = secrets.New(values)
	p.transport = newTransport(p.authorities())
	p.serve(l)
	return p, nil
}

// Address is where the proxy listens: 127.0.0.1, a colon and the port.
func (p *Proxy) Address() string { return p.address }

func (p *Proxy) serve(l net.Listener) {
	errorLog := log.New(logWriter{p}, "", 0)
	p.server = &http.Server{
		Handler: p.handler(errorLog), ErrorLog: errorLog,
		// A client must not meet a connection that is just closing: neither one that it uses
		// again, nor one that it made before it was busy, or stopped, for a while.
		IdleTimeout: time.Hour, ReadHeaderTimeout: time.Hour, MaxHeaderBytes: 64 << 10,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l) // ends with Close
	}()
}

// Close ends the proxy, with the requests under way, and returns when all is
// gone.
func (p *Proxy) Close() error {
	p.accounts.mu.Lock()
	all := p.accounts.unpaid()
	p.accounts.mu.Unlock()
	for _, a := range all {
		a.shut()
		a.end()
	}
	err := p.server.Close()
	<-p.served
	p.underway.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// tell logs a line without secrets.
func (p *Proxy) tell(line string) {
	if p.options.Log != nil {
		p.options.Log(p.secrets.Text(line))
	}
}

// mostTold is how many lines are told once: agents may make them up.
const mostTold = 20

// tellOnce is tell for a line that would come again and again.
func (p *Proxy) tellOnce(line string) {
	p.telling.Lock()
	defer p.telling.Unlock()
	if len(p.told) < mostTold && !slices.Contains(p.told, line) {
		p.told = append(p.told, line)
		p.tell(line)
	}
}

// logWriter gets what net/http itself logs.
type logWriter struct{ p *Proxy }

func (w logWriter) Write(line []byte) (int, error) {
	w.p.tell(strings.TrimSpace(string(line)))
	return len(line), nil
}
