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

// routes is a transport for plain HTTP requests. It sends them directly or through the job's own proxy.
type routes struct {
	upstream    upstream
	direct, via *http.Transport
}

// RoundTrip sends a request. It uses the job's own proxy if one is configured for the URL.
func (r *routes) RoundTrip(request *http.Request) (*http.Response, error) {
	if proxy, err := r.upstream(request.URL); err != nil || proxy != nil {
		return r.via.RoundTrip(request) // via calls upstream again and returns upstream's error
	}
	return r.direct.RoundTrip(request)
}

// dial connects to the target of a CONNECT request. It uses the job's own proxy if one is configured for
// the target.
func (p *Proxy) dial(ctx context.Context, t target) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	proxy, err := p.upstream(&url.URL{Scheme: "https", Host: t.String()})
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return p.dialer.DialContext(context.WithValue(ctx, targetKey{}, t), "tcp", t.String())
	}
	conn, err := dialProxy(ctx, proxy)
	if err != nil {
		return nil, fmt.Errorf("proxy of the job: %w", err)
	}
	through, err := connectThrough(ctx, conn, proxy, t)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("proxy of the job: %w", err)
	}
	return through, nil
}

// dialDirect connects to the target of a plain HTTP request without the job's own proxy.
func (p *Proxy) dialDirect(ctx context.Context, network, address string) (net.Conn, error) {
	t, _ := parseTarget(address, 0)
	return p.dialer.DialContext(context.WithValue(ctx, targetKey{}, t), network, address)
}

// dialProxy connects to the job's own proxy. It returns an error if the scheme is neither http nor https.
func dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	ports := map[string]string{"http": "80", "https": "443"}
	port, ok := ports[proxy.Scheme]
	if !ok {
		return nil, fmt.Errorf("unsupported scheme %q: use http or https", proxy.Scheme)
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

// connectThrough requests a tunnel to t from the job's own proxy, which is at the other end of conn.
func connectThrough(ctx context.Context, conn net.Conn, proxy *url.URL, t target) (net.Conn, error) {
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
		return nil, fmt.Errorf("it responded with %q", answer.Status)
	case !stop():
		return nil, ctx.Err()
	}
	return &bufferedConn{Conn: conn, reader: answers}, nil
}

// bufferedConn is a connection whose first bytes have been read into a buffer already.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

// Read returns the buffered bytes, and then reads from the connection.
func (b *bufferedConn) Read(data []byte) (int, error) { return b.reader.Read(data) }

// CloseWrite closes the sending half of the connection. It does nothing if the connection doesn't
// support that.
func (b *bufferedConn) CloseWrite() error { return closeWrite(b.Conn) }

// closeWrite closes the sending half of a connection. It does nothing if the connection doesn't support
// that.
func closeWrite(conn net.Conn) error {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
