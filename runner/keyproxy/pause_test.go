package keyproxy

import (
	"net/http"
	"testing"
	"time"
)

// TestRetryAfterIsRemembered: of failing answers of the service, as a number or a
// date, for the invocations under way.
func TestRetryAfterIsRemembered(t *testing.T) {
	began := time.Now()
	date := began.Add(90 * time.Second).Truncate(time.Second)
	for _, c := range []struct {
		status int
		header string
		want   time.Duration // from now; 0 for nothing
	}{
		{429, "30", 30 * time.Second},
		{529, "7", 7 * time.Second},
		{503, date.UTC().Format(http.TimeFormat), date.Sub(began)},
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
		account := p.Open(toy, "")
		ask(t, p, nil)
		got, ended := account.RetryAfter(), time.Now()
		isEarly, isLate := got.Before(began.Add(c.want-time.Second)), got.After(ended.Add(c.want+time.Second))
		if got.IsZero() != (c.want == 0) || c.want > 0 && (isEarly || isLate) {
			t.Errorf("%d with retry-after %q: got %v, want %v after a time from %v to %v", c.status, c.header, got, c.want, began, ended)
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
