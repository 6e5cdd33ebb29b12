package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/netutil"
)

const (
	// mostClients limits the number of client connections. Further clients wait.
	mostClients = 512
	// mostHeaders is the maximum size in bytes of a message's headers.
	mostHeaders = 64 << 10
	// idleTime is how long a tunnel stays open when no data is sent.
	idleTime = 10 * time.Minute
	// clientTime is how long a client connection stays open without a request.
	clientTime  = time.Minute
	headerTime  = 30 * time.Second
	connectTime = 30 * time.Second
)

// Options configure a proxy.
type Options struct {
	List List
	// Getenv returns an environment variable of the job. If HTTPS_PROXY or HTTP_PROXY is set, the proxy that
	// it names is used for listed hosts, except hosts in NO_PROXY. If Getenv is nil, no variable is set.
	Getenv func(name string) string
	// OnRefused is called with the host and port of each rejected request. Several goroutines may call it at
	// the same time. It may be nil.
	OnRefused func(target string)
}

// Proxy is a running proxy.
type Proxy struct {
	list      List
	onRefused func(string)

	upstream upstream
	dialer   net.Dialer // connects to listed hosts
	requests *httputil.ReverseProxy
	routes   *routes

	listener net.Listener
	server   *http.Server
	running  context.Context    // the parent of all requests and tunnels
	stop     context.CancelFunc // cancels running
	inUse    sync.RWMutex       // each request holds a read lock; Close holds the write lock forever, so that no further request starts
}

// Start starts a proxy on a free port of 127.0.0.1.
func Start(o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{list: o.List, onRefused: o.OnRefused, upstream: upstreamOf(o.Getenv), listener: listener}
	p.dialer = net.Dialer{Timeout: connectTime, ControlContext: o.List.checkDial}
	quiet := log.New(io.Discard, "", 0)
	direct := &http.Transport{DialContext: p.dialDirect, IdleConnTimeout: time.Minute, DisableCompression: true, MaxResponseHeaderBytes: mostHeaders}
	via := direct.Clone()
	// The job's own proxy may have any address, so via connects to it without a check.
	via.DialContext = nil
	via.Proxy = func(r *http.Request) (*url.URL, error) { return p.upstream(r.URL) }
	p.routes = &routes{p.upstream, direct, via}
	p.requests = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     p.routes,
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			t, _ := parseTarget(r.URL.Host, 80)
			p.fail(w, t, err)
		},
	}
	p.running, p.stop = context.WithCancel(context.Background())
	p.server = &http.Server{
		BaseContext: func(net.Listener) context.Context { return p.running },
		Handler:     p, ErrorLog: quiet, MaxHeaderBytes: mostHeaders,
		ReadHeaderTimeout: headerTime, IdleTimeout: clientTime,
	}
	go func() { _ = p.server.Serve(netutil.LimitListener(listener, mostClients)) }()
	return p, nil
}

// upstream returns the job's own proxy for a URL. It returns nil if the connection is direct.
type upstream func(*url.URL) (*url.URL, error)

// upstreamOf returns the upstream that the proxy variables define. If getenv is nil, connections are
// direct.
func upstreamOf(getenv func(string) string) upstream {
	if getenv == nil {
		return func(*url.URL) (*url.URL, error) { return nil, nil }
	}
	either := func(upper, lower string) string {
		if value := getenv(upper); value != "" {
			return value
		}
		return getenv(lower)
	}
	config := httpproxy.Config{
		HTTPProxy:  either("HTTP_PROXY", "http_proxy"),
		HTTPSProxy: either("HTTPS_PROXY", "https_proxy"),
		NoProxy:    either("NO_PROXY", "no_proxy"),
	}
	return config.ProxyFunc()
}

// Port returns the port of 127.0.0.1 on which the proxy listens.
func (p *Proxy) Port() uint16 {
	return uint16(p.listener.Addr().(*net.TCPAddr).Port) //nolint:gosec,forcetypeassert // the listener is a TCP listener
}

// Close stops the proxy and all its requests and tunnels, and waits until they have ended.
func (p *Proxy) Close() {
	// This also ends tunnels, whose connections are hijacked, so that server.Close ignores them.
	p.stop()
	p.server.Close()
	p.inUse.Lock()
	p.routes.direct.CloseIdleConnections()
	p.routes.via.CloseIdleConnections()
}

// ServeHTTP handles one request from a client: it opens a tunnel, forwards a plain request or sends an
// error.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.inUse.TryRLock() {
		return
	}
	defer p.inUse.RUnlock()
	switch {
	case r.Method == http.MethodConnect:
		if t, ok := p.admit(w, r.Host, 443); ok {
			p.tunnel(w, r, t)
		}
	case r.URL.Scheme == "http" && r.URL.Host != "":
		if _, ok := p.admit(w, r.URL.Host, 80); ok {
			p.requests.ServeHTTP(w, r)
		}
	default:
		http.Error(w, "raymond: this proxy accepts only CONNECT and http:// URLs", http.StatusBadRequest)
	}
}

// admit parses the host of a request and returns true if the list allows it. Otherwise it responds with an
// error. port is used if the host contains no port.
func (p *Proxy) admit(w http.ResponseWriter, hostport string, port uint16) (target, bool) {
	t, ok := parseTarget(hostport, port)
	switch {
	case !ok:
		http.Error(w, "raymond: invalid host name", http.StatusBadRequest)
		return t, false
	case p.list.allows(t):
		return t, true
	}
	p.reportRefused(t)
	http.Error(w, fmt.Sprintf("raymond: this run may not connect to %s; add %s to the input network", t, t.entryText()),
		http.StatusForbidden)
	return t, false
}

// reportRefused passes a rejected target to onRefused if that is set.
func (p *Proxy) reportRefused(t target) {
	if p.onRefused != nil {
		p.onRefused(t.String())
	}
}

// fail sends the response for a request whose target could not be reached. If checkDial denied the
// connection, it also reports the target.
func (p *Proxy) fail(w http.ResponseWriter, t target, err error) {
	status := http.StatusBadGateway
	var timeout net.Error
	var kept *restrictedError
	switch {
	case errors.As(err, &kept):
		status = http.StatusForbidden
		p.reportRefused(kept.at)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	http.Error(w, fmt.Sprintf("raymond: can't connect to %s: %v", t, err), status)
}
