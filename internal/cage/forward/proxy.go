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
	// mostClients bounds the connections of clients. Further ones wait.
	mostClients = 512
	mostHeaders = 64 << 10
	// idleTime is how long a connection lives on which nothing passes.
	idleTime    = 10 * time.Minute
	clientTime  = time.Minute // between two requests
	headerTime  = 30 * time.Second
	connectTime = 30 * time.Second
)

// Options say what a proxy does.
type Options struct {
	List List
	// Getenv returns the job's own variables, such as HTTPS_PROXY: the proxy that they
	// name is used on the way to hosts of the list, and NO_PROXY holds. Nil for none.
	Getenv func(name string) string
	// OnRefused is told each host with its port that isn't in the list, whenever somebody asks
	// for it, from any goroutine; nil for nobody.
	OnRefused func(target string)
}

// Proxy is a proxy that runs.
type Proxy struct {
	list    List
	refused func(string)

	upstream upstream
	dialer   net.Dialer // to hosts of the list
	requests *httputil.ReverseProxy
	routes   *routes

	listener net.Listener
	server   *http.Server
	running  context.Context    // of all requests and tunnels
	stop     context.CancelFunc // ends it
	passing  sync.RWMutex       // held for reading by what passes, and for writing once nothing is to pass any more
}

// Start starts a proxy on a port of 127.0.0.1.
func Start(o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{list: o.List, refused: o.OnRefused, upstream: upstreamOf(o.Getenv), listener: listener}
	p.dialer = net.Dialer{Timeout: connectTime, ControlContext: o.List.checkDial}
	quiet := log.New(io.Discard, "", 0)
	direct := &http.Transport{DialContext: p.dialDirect, IdleConnTimeout: time.Minute, DisableCompression: true, MaxResponseHeaderBytes: mostHeaders}
	via := direct.Clone()
	via.DialContext = nil // the job's own proxy may be at any address
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

// upstream returns the job's own proxy on the way to an address, nil if there is none.
type upstream func(*url.URL) (*url.URL, error)

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

// Port returns the port of 127.0.0.1 that the proxy listens at.
func (p *Proxy) Port() uint16 {
	return uint16(p.listener.Addr().(*net.TCPAddr).Port) //nolint:gosec,forcetypeassert // It listens on TCP.
}

// Close ends the proxy and all that passes it, and waits until that has ended.
func (p *Proxy) Close() {
	p.stop() // tunnels as well, which the server knows nothing of
	p.server.Close()
	p.passing.Lock()
	p.routes.direct.CloseIdleConnections()
	p.routes.via.CloseIdleConnections()
}

// ServeHTTP passes on a request of a client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.passing.TryRLock() {
		return
	}
	defer p.passing.RUnlock()
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
		http.Error(w, "raymond: this is a proxy, for CONNECT and for http:// addresses", http.StatusBadRequest)
	}
}

// admit answers requests that may not pass.
func (p *Proxy) admit(w http.ResponseWriter, hostport string, port uint16) (target, bool) {
	t, ok := parseTarget(hostport, port)
	switch {
	case !ok:
		http.Error(w, "raymond: that is no name of a host", http.StatusBadRequest)
		return t, false
	case p.list.allows(t):
		return t, true
	}
	p.tell(t)
	http.Error(w, fmt.Sprintf("raymond: %s is not among the hosts that this run may reach; add %s to the input network", t, t.listed()),
		http.StatusForbidden)
	return t, false
}

func (p *Proxy) tell(t target) {
	if p.refused != nil {
		p.refused(t.String())
	}
}

// fail answers a request whose target was not reached.
func (p *Proxy) fail(w http.ResponseWriter, t target, err error) {
	status := http.StatusBadGateway
	var timeout net.Error
	var kept *keptError
	switch {
	case errors.As(err, &kept):
		status = http.StatusForbidden
		p.tell(kept.at)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	http.Error(w, fmt.Sprintf("raymond: %s was not reached: %v", t, err), status)
}
