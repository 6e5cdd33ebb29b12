package forge

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestTokenIsOnlySentToTheAPIHost checks to which GraphQL addresses the token may be sent.
func TestTokenIsOnlySentToTheAPIHost(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "api.example.test"}
	for address, want := range map[string]bool{
		"https://api.example.test/graphql": true, "https://api.example.test/api/graphql": true, "": false, "graphql": false,
		"http://api.example.test/graphql": false, "https://api.example.test.evil/graphql": false, "https://evil/api.example.test": false,
		"https://x@evil/": false, "%": false,
	} {
		assert.Check(t, is.Equal(sameHost(address, base), want), "%q for %v", address, base)
	}
}

// TestTokenIsNotSentAlongRedirects checks that a redirect to another host is an error. The library would
// send the token there.
func TestTokenIsNotSentAlongRedirects(t *testing.T) {
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Authorization") }))
	defer thief.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	c, err := New(Options{URL: api.URL, Token: "secret", Repository: "o/r", Retrier: Retrier{Sleep: func(context.Context, time.Duration) error { return nil }}})
	assert.NilError(t, err)
	if err := c.Get(t.Context(), "ask", "x", new(any)); err == nil || len(stolen) > 0 {
		t.Errorf("got %v and %d requests to the other host, want an error and none", err, len(stolen))
	}
}

// TestCanceledContextEndsRetries checks that Do makes no further attempt if the context is canceled during
// a pause.
func TestCanceledContextEndsRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	requests, calls := 0, Retrier{Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel()
		return Sleep(ctx, time.Hour)
	}}
	err := calls.Do(ctx, Steady, "ask", func(context.Context, *Progress) *Error { requests++; return &Error{Status: 503} })
	assert.Check(t, is.ErrorIs(err, context.Canceled))
	assert.Check(t, is.Equal(requests, 1))
}

// TestKnownRateLimitIsWaitedFor checks that Do pauses if the library itself doesn't send a request, because
// the service has reported a rate limit before. The library's error then contains no response header.
func TestKnownRateLimitIsWaitedFor(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"documentation_url": "https://docs.github.com/rest#about-secondary-rate-limits"}`)
	}))
	defer server.Close()
	var waited []time.Duration
	c, err := New(Options{URL: server.URL, Repository: "o/r", Retrier: Retrier{Sleep: func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	}}})
	assert.NilError(t, err)
	err = c.Get(t.Context(), "ask", "x", new(any))
	if err == nil || requests != 1 || len(waited) < 2 || slices.Min(waited) != longestPause {
		t.Errorf("got %v after %d requests and pauses of %v, want one, and pauses of %v", err, requests, waited, longestPause)
	}
}
