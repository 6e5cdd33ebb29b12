package keyproxy

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRetryAfterIsRemembered: of failing answers of the service, as a number or a
// date, for the invocations under way.
func TestRetryAfterIsRemembered(t *testing.T) {
	for _, c := range []struct {
		status int
		header string
		want   time.Duration // from now; 0 for nothing
	}{
		{429, "30", 30 * time.Second},
		{529, "7", 7 * time.Second},
		{503, time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 90 * time.Second},
		{503, "1.5", 1500 * time.Millisecond},
		{500, "1e300", longestWait},
		{500, "", 0}, {500, "soon", 0}, {500, "-5", 0}, {500, "NaN", 0}, {200, "30", 0}, {400, "30", 0},
	} {
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
		})
		p := start(t, Options{Upstream: upstream.URL, APIKey: realKey})
		began := time.Now()
		account := p.Open("")
		ask(t, p, nil)
		got := account.RetryAfter()
		if wait := got.Sub(began); got.IsZero() != (c.want == 0) || c.want > 0 && (wait < c.want-2*time.Second || wait > c.want+10*time.Second) {
			t.Errorf("%d with retry-after %q: got %v, want %v from now", c.status, c.header, got, c.want)
		}
		if got := p.Open("").RetryAfter(); !got.IsZero() {
			t.Errorf("%d with retry-after %q, for a later invocation: got %v, want none", c.status, c.header, got)
		}
	}
}

// TestAddressIsHidden: errors of the CLI name the API, not where we listen.
func TestAddressIsHidden(t *testing.T) {
	p := start(t, Options{Upstream: "https://gateway.example/claude/", APIKey: realKey})
	got := p.Hide("check your inference gateway (" + p.address + "), http://" + p.address + "/v1/messages, " + at(p) + "/v1/messages, 127.0.0.1:1")
	if want := "check your inference gateway (gateway.example), https://gateway.example/claude/v1/messages, https://gateway.example/claude/v1/messages, 127.0.0.1:1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p = start(t, Options{APIKey: realKey})
	if got := p.Hide(p.address); !strings.Contains(got, "api.anthropic.com") {
		t.Errorf("got %q, want Anthropic's own", got)
	}
}
