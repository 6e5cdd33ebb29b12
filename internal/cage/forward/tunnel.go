package forward

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// tunnel handles a CONNECT request. It copies bytes in both directions until the server has closed its
// end, the tunnel is idle for too long or the proxy is closed.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, t target) {
	server, err := p.dial(r.Context(), t)
	if err != nil {
		p.fail(w, t, err)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	ends := []net.Conn{client, server}
	stop := context.AfterFunc(p.running, func() { closeAll(ends) })
	defer stop()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	idle := time.AfterFunc(idleTime, func() { closeAll(ends) })
	defer idle.Stop()
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(activityWriter{server, idle}, buffered) // an error ends only this direction
		_ = closeWrite(server)
	})
	_, _ = io.Copy(activityWriter{client, idle}, server)
	closeAll(ends)
	there.Wait()
}

// activityWriter is a writer that restarts its tunnel's idle timer with every write.
type activityWriter struct {
	io.Writer
	idle *time.Timer
}

// Write restarts the idle timer and passes data on.
func (a activityWriter) Write(data []byte) (int, error) {
	a.idle.Reset(idleTime)
	return a.Writer.Write(data)
}

// closeAll closes both ends of a tunnel.
func closeAll(ends []net.Conn) {
	for _, end := range ends {
		end.Close()
	}
}
