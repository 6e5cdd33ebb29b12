package keyproxy

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"

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
