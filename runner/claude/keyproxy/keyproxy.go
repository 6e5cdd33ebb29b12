// Package keyproxy keeps the model's key from what an agent runs: the agent CLI
// gets a credential that is valid only on this machine and only during the run,
// and talks to a proxy here, which replaces it by the real one.
//
// It knows HTTP and how the agent CLI is told where its API is. It holds the body of
// a request until it has been forwarded, and does not look into it. In answers it
// counts the tokens as they pass, for the invocation that asked. When these have used
// up what Allow says, it forwards nothing more that costs money.
package keyproxy

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/state"
)

// anthropic is the API that the agent CLI uses by itself.
const anthropic = "https://api.anthropic.com"

// Options say where requests go and with what.
type Options struct {
	// Upstream is the URL of the API, with the path below which it has /v1/; ""
	// for Anthropic's own. It is what ANTHROPIC_BASE_URL was for the job.
	Upstream string
	// APIKey, or else OAuthToken (of a subscription), is the credential that the
	// API gets. Of both the key is used, as the agent CLI does it.
	APIKey, OAuthToken string
	// Environ is the environment that the agent CLI has otherwise: Env extends its
	// NO_PROXY, and NODE_EXTRA_CA_CERTS names further authorities for Upstream.
	// The proxy to the outside and the system's authorities are those of this
	// process, as net/http finds them.
	Environ []string
	// Price returns what tokens of a model cost, and false where nobody knows; nil knows
	// nothing. Without it Allow limits nothing. It may be called by several goroutines
	// at once.
	Price func(state.Usage) (state.USD, bool)
	// Log gets what goes wrong, a line at a time and without secrets; nil drops it.
	// It may be called by several goroutines at once.
	Log func(line string)
}

// Proxy is a running proxy. It may be used by many goroutines.
type Proxy struct {
	options    Options
	upstream   *url.URL
	address    string // "127.0.0.1:" and the port
	credential string // that the agent CLI has to show
	secrets    *secrets.Set
	names      *strings.Replacer // the proxy's address by the API's
	server     *http.Server
	transport  *http.Transport
	once       sync.Once     // says that answers can't be counted
	served     chan struct{} // closed when no connection is accepted any more

	accounts accounts // of the invocations under way
	budget   budget   // what they may use
	calls    calls    // requests under way
	pause    pause    // that the API asked for
}

// Start starts a proxy on a free port of 127.0.0.1. The error says what is wrong
// with the options, and never has a secret in it.
func Start(o Options) (*Proxy, error) {
	// A secret often ends with the line break of the file that it came from.
	o.APIKey, o.OAuthToken = strings.TrimSpace(o.APIKey), strings.TrimSpace(o.OAuthToken)
	if err := checkCredential(o); err != nil {
		return nil, err
	}
	upstream, err := parseUpstream(o.Upstream)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start key proxy: %w", err)
	}
	p := &Proxy{
		options: o, upstream: upstream, address: l.Addr().String(),
		credential: "raymond-" + rand.Text(), served: make(chan struct{}),
	}
	p.secrets, _ = secrets.New(map[string]string{"key": o.APIKey, "token": o.OAuthToken})
	p.names = strings.NewReplacer("http://"+p.address, strings.TrimSuffix(upstream.String(), "/"), p.address, upstream.Host)
	p.transport = newTransport(p.authorities())
	p.serve(l)
	return p, nil
}

// checkCredential refuses what no header can carry before anything quotes it.
func checkCredential(o Options) error {
	for _, secret := range []string{o.APIKey, o.OAuthToken} {
		if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("start key proxy: the key has blanks, line breaks or other characters that no key has")
		}
	}
	if o.APIKey == "" && o.OAuthToken == "" {
		return errors.New("start key proxy: no key")
	}
	return nil
}

// parseUpstream reads the URL of the API. It quotes nothing of one that it does
// not understand: there may be a password in it.
func parseUpstream(text string) (*url.URL, error) {
	if text == "" {
		text = anthropic
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("start key proxy: the API's address is no http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("start key proxy: the API's address has a login, a query or a fragment")
	}
	return u, nil
}

func (p *Proxy) serve(l net.Listener) {
	errorLog := log.New(logWriter{p}, "", 0)
	p.server = &http.Server{
		Handler: p.handler(errorLog), ErrorLog: errorLog,
		ReadHeaderTimeout: 10 * time.Second,
		// A client that reuses a connection must not meet one that is just closing.
		IdleTimeout: time.Hour,
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l) // ends with Close
	}()
}

// Env returns what the agent CLI gets in its environment, behind everything else,
// so that it uses the proxy. It has no secret but the proxy's own credential, and
// blanks the variables that might hold another. What Account.Env returns goes
// behind it: without the path of an invocation nothing is forwarded.
func (p *Proxy) Env() []string {
	env := []string{"ANTHROPIC_BASE_URL=http://" + p.address, "ANTHROPIC_AUTH_TOKEN="}
	if p.options.APIKey != "" {
		env = append(env, "ANTHROPIC_API_KEY="+p.credential, "CLAUDE_CODE_OAUTH_TOKEN=")
	} else {
		// Not ANTHROPIC_AUTH_TOKEN: only with this one does the CLI ask as a
		// subscription does (anthropic-beta: oauth-2025-04-20).
		env = append(env, "CLAUDE_CODE_OAUTH_TOKEN="+p.credential, "ANTHROPIC_API_KEY=")
	}
	env = append(env, bypass(p.options.Environ)...)
	if p.upstream.String() == anthropic && variable(p.options.Environ, "ENABLE_TOOL_SEARCH") == "" {
		// The CLI sends all tools with each request, 28 KB more, to an API that is
		// not Anthropic's by its address.
		env = append(env, "ENABLE_TOOL_SEARCH=true")
	}
	return env
}

// Close ends the proxy, with the requests under way, and returns when all is
// gone.
func (p *Proxy) Close() error {
	p.calls.close()
	for _, a := range p.accounts.all() {
		a.Close()
	}
	err := p.server.Close()
	<-p.served
	p.calls.underway.Wait()
	p.transport.CloseIdleConnections()
	return err
}

// tell logs a line without secrets.
func (p *Proxy) tell(line string) {
	if p.options.Log != nil {
		p.options.Log(p.secrets.Text(line))
	}
}

// logWriter gets what net/http itself logs.
type logWriter struct{ p *Proxy }

func (w logWriter) Write(line []byte) (int, error) {
	w.p.tell(strings.TrimSpace(string(line)))
	return len(line), nil
}

// calls are the requests under way.
type calls struct {
	mu       sync.Mutex // guards closed, and underway from growing after it is set
	closed   bool
	underway sync.WaitGroup
}

// enter counts a request in, unless the proxy is closing. The caller must call
// underway.Done if it returns true.
func (c *calls) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.underway.Add(1)
	return true
}

// close lets no request enter any more.
func (c *calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}
