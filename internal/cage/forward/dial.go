package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// routes are the ways of requests that are no tunnels.
type routes struct {
	upstream    upstream
	direct, via *http.Transport
}

// RoundTrip passes on a request, through the job's own proxy if it has one.
func (r *routes) RoundTrip(request *http.Request) (*http.Response, error) {
	if proxy, err := r.upstream(request.URL); err != nil || proxy != nil {
		return r.via.RoundTrip(request) // which asks again
	}
	return r.direct.RoundTrip(request)
}

// dial connects to the target of a tunnel, through the job's own proxy if it has one.
func (p *Proxy) dial(ctx context.Context, t target) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	proxy, err := p.upstream(&url.URL{Scheme: "https", Host: t.String()})
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return p.dialer.DialContext(to(ctx, t), "tcp", t.String())
	}
	conn, err := dialProxy(ctx, proxy)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the job: %w", err)
	}
	through, err := askProxy(ctx, conn, proxy, t)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy of the job: %w", err)
	}
	return through, nil
}

// dialDirect connects to the target of a request that is no tunnel.
func (p *Proxy) dialDirect(ctx context.Context, network, address string) (net.Conn, error) {
	t, _ := parseTarget(address, 0)
	return p.dialer.DialContext(to(ctx, t), network, address)
}

func dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	ports := map[string]string{"http": "80", "https": "443"}
	port, ok := ports[proxy.Scheme]
	if !ok {
		return nil, fmt.Errorf("its address begins with %s://, and only http:// and https:// are known", proxy.Scheme)
	}
	if proxy.Port() != "" {
		port = proxy.Port()
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	if proxy.Scheme == "https" {
		dialer := tls.Dialer{Config: &tls.Config{ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12}}
		return dialer.DialContext(ctx, "tcp", address)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// askProxy asks the proxy at the other end of a connection for a tunnel.
func askProxy(ctx context.Context, conn net.Conn, proxy *url.URL, t target) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.String()}, Host: t.String(), Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		login := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		request.Header.Set("Proxy-Authorization", "Basic "+login)
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	answers := bufio.NewReaderSize(conn, mostHeaders)
	answer, err := http.ReadResponse(answers, request)
	if err != nil {
		return nil, err
	}
	switch {
	case answer.StatusCode/100 != 2:
		return nil, fmt.Errorf("it answered %q", answer.Status)
	case !stop():
		return nil, ctx.Err()
	}
	return &begun{Conn: conn, reader: answers}, nil
}

// begun is a connection of which something has been read already.
type begun struct {
	net.Conn
	reader *bufio.Reader
}

// Read reads what is left of what was read first.
func (b *begun) Read(data []byte) (int, error) { return b.reader.Read(data) }

// CloseWrite tells the other end that nothing follows, if the connection can do that.
func (b *begun) CloseWrite() error { return closeWrite(b.Conn) }

func closeWrite(conn net.Conn) error {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
