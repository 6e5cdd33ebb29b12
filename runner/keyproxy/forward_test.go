package keyproxy

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestKeysInResponsesAreMasked checks that a key is masked in every part of a response in which a
// gateway could repeat it, even if it arrives in pieces. The length of the body must not change.
func TestKeysInResponsesAreMasked(t *testing.T) {
	const other = "sk-proj-the-key-of-another-vendor"
	upstream, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Late")
		w.Header().Set("X-Request", "key "+r.Header.Get("X-Api-Key"))
		for piece := range slices.Chunk([]byte("data: "+r.Header.Get("X-Api-Key")+" and "+other+"\n\n"), 7) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Late", r.Header.Get("X-Api-Key"))
		w.Header().Set(http.TrailerPrefix+"X-Later", other)
	})
	p := start(t, Options{Vendors: append(vendors(upstream.URL), Vendor{API: toyAPI{"other"}, Credential: Credential{Text: other}})})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		early := &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
			t.Errorf("%s: got the early header %v", method, h)
			return nil
		}}
		r := request(p.Open(toy, ""), method, "/v1/messages", http.NoBody)
		r = r.WithContext(httptrace.WithClientTrace(t.Context(), early))
		answer, err := plainClient.RoundTrip(r)
		assert.NilError(t, err)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		want := "data: " + strings.Repeat("*", len(realKey)) + " and " + strings.Repeat("*", len(other)) + "\n\n"
		assert.Check(t, is.Equal(string(body), want), method)
		assert.Check(t, err, method)
		assert.Check(t, is.Len(answer.Trailer, 0), method)
		assert.Check(t, is.Equal(answer.Header.Get("X-Request"), "key ***"), method)
		for name, values := range answer.Header {
			text := strings.Join(values, " ")
			assert.Check(t, !strings.Contains(text, realKey) && !strings.Contains(text, other), "%s: %s: %s", method, name, text)
		}
	}
}

// TestParseRetryAfter checks how numbers, dates and invalid values are parsed.
func TestParseRetryAfter(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "1e300": maxRetryAfter,
		now.Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second, now.Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
		"": -1, "soon": -1, "-5": -1, "NaN": -1,
	} {
		got, ok := parseRetryAfter(text, now)
		assert.Check(t, ok == (want >= 0) && (!ok || got == want), "%q: got %v, %v, want %v", text, got, ok, want)
	}
}

// TestRetryAfterIsStored checks that the time is stored only for failed responses, and only in the account
// that received the response.
func TestRetryAfterIsStored(t *testing.T) {
	for status, want := range map[int]bool{429: true, 529: true, 503: true, 200: false, 400: false} {
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(status)
		})
		p := start(t, Options{Vendors: vendors(upstream.URL)})
		account := p.Open(toy, "")
		ask(t, p, forAccount(account))
		got := account.RetryAfter()
		assert.Check(t, got.IsZero() != want, "%d: got %v, want a time: %v", status, got, want)
		got = p.Open(toy, "").RetryAfter()
		assert.Check(t, got.IsZero(), "%d, for another invocation: got %v, want none", status, got)
	}
}

// TestAddressIsHidden checks that HideAddress replaces the proxy's address in an error text with the API's
// address.
func TestAddressIsHidden(t *testing.T) {
	p := start(t, Options{Vendors: vendors("https://gateway.example/claude/")})
	got := p.HideAddress("check your inference gateway (" + p.address + "), http://" + p.address + "/v1/messages, " + p.Open(toy, "").Access().URL + "/v1/messages, 127.0.0.1:1")
	assert.Check(t, is.Equal(got, "check your inference gateway (gateway.example), https://gateway.example/claude/v1/messages, https://gateway.example/claude/v1/messages, 127.0.0.1:1"))
	two := append(vendors(""), Vendor{API: toyAPI{"other"}, Upstream: "http://other.example", Credential: Credential{Text: realKey}})
	p = start(t, Options{Vendors: two})
	got = p.HideAddress("ask " + p.Open(toy, "").Access().URL + "/x and " + p.Open("other", "").Access().URL + "/y at " + p.address)
	assert.Check(t, is.Equal(got, "ask https://toy.example/api/x and http://other.example/y at the API of the model"), "of two")
}
