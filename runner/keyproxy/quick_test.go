package keyproxy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// TestRequestsOfAnySizePass holds that a request arrives as it was sent, also where
// it doesn't fit into memory or does not say its length, and that one which is too
// long is refused as the API does it.
func TestRequestsOfAnySizePass(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%d %d %x %v", r.ContentLength, n, sum.Sum(nil), err)
	}))
	t.Cleanup(upstream.Close)
	told := &lines{}
	p := start(t, Options{Vendors: vendors(upstream.URL), Log: told.add})
	for _, size := range []int{0, inMemory, inMemory + 1, 3 * inMemory} {
		for _, length := range []int64{int64(size), -1} {
			body := bytes.Repeat([]byte("ab1"), size/3+1)[:size]
			_, got := ask(t, p, func(r *http.Request) { setBody(r, body); r.ContentLength = length })
			if want := fmt.Sprintf("%d %d %x <nil>", size, size, sha256.Sum256(body)); got != want {
				t.Errorf("%d bytes, announced as %d: got %q, want %q", size, length, got, want)
			}
		}
	}
	if answer, body := ask(t, p, func(r *http.Request) { setBody(r, make([]byte, maxBody+1)); r.ContentLength = -1 }); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d bytes: got %s %q, want status 413", maxBody+1, answer.Status, body)
	}
	if got := told.text(); got != "" {
		t.Errorf("log: got %q, want nothing", got)
	}
}
