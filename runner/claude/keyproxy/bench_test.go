package keyproxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkRequest compares a request of the CLI's usual size with and without the
// proxy.
func BenchmarkRequest(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		io.WriteString(w, "pong")
	}))
	defer upstream.Close()
	p := start(b, Options{Upstream: upstream.URL, APIKey: realKey})
	body := bytes.Repeat([]byte("x"), 76_000)
	for name, address := range map[string]string{"direct": upstream.URL, "proxied": "http://" + p.address} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, _ := http.NewRequest("POST", address+"/v1/messages", bytes.NewReader(body))
				bearer(p.credential)(r)
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
}
