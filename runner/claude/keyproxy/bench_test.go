package keyproxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
	for name, address := range map[string]string{"direct": upstream.URL, "proxied": at(p)} {
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

// BenchmarkCounting compares an answer of 2,000 pieces that is counted as it passes
// with the same one that is not.
func BenchmarkCounting(b *testing.B) {
	body := begins("sonnet") + strings.Repeat(fmt.Sprintf(writes, "some words"), 2000) + fmt.Sprintf(countsTo, 9) + ends
	for _, status := range []int{http.StatusOK, http.StatusAccepted} { // the other is passed on alone
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
			for rest := body; rest != ""; rest = rest[min(1000, len(rest)):] {
				io.WriteString(w, rest[:min(1000, len(rest))])
				_ = http.NewResponseController(w).Flush()
			}
		}))
		defer upstream.Close()
		p := start(b, Options{Upstream: upstream.URL, APIKey: realKey})
		b.Run(map[int]string{http.StatusOK: "counted", http.StatusAccepted: "passed"}[status], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b, p, nil)
			}
		})
	}
}
