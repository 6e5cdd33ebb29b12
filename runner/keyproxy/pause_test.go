package keyproxy

import (
	"net/http"
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
		p := start(t, Options{Vendors: vendors(upstream.URL)})
		began := time.Now()
		account := p.Open(toy, "")
		ask(t, p, nil)
		got := account.RetryAfter()
		if wait := got.Sub(began); got.IsZero() != (c.want == 0) || c.want > 0 && (wait < c.want-2*time.Second || wait > c.want+10*time.Second) {
			t.Errorf("%d with retry-after %q: got %v, want %v from now", c.status, c.header, got, c.want)
		}
		if got := p.Open(toy, "").RetryAfter(); !got.IsZero() {
			t.Errorf("%d with retry-after %q, for a later invocation: got %v, want none", c.status, c.header, got)
		}
	}
}

// TestAddressIsHidden: errors of the CLI name the API, not where we listen.
func TestAddressIsHidden(t *testing.T) {
	p := start(t, Options{Vendors: vendors("https://gateway.example/claude/")})
	got := p.Hide("check your inference gateway (" + p.address + "), http://" + p.address + "/v1/messages, " + p.Open(toy, "").Access().URL + "/v1/messages, 127.0.0.1:1")
	if want := "check your inference gateway (gateway.example), https://gateway.example/claude/v1/messages, https://gateway.example/claude/v1/messages, 127.0.0.1:1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	two := append(vendors(""), Vendor{API: toyAPI{"other"}, Upstream: "http://other.example", Credential: Credential{Text: realKey}})
	p = start(t, Options{Vendors: two})
	got = p.Hide("ask " + p.Open(toy, "").Access().URL + "/x and " + p.Open("other", "").Access().URL + "/y at " + p.address)
	if want := "ask https://toy.example/api/x and http://other.example/y at the API of the model"; got != want {
		t.Errorf("of two: got %q, want %q", got, want)
	}
}
