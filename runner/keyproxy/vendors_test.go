package keyproxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// TestVendorsAreApart: with the address or the credential of one invocation nobody reaches
// the API of another vendor, and each API gets its own key.
func TestVendorsAreApart(t *testing.T) {
	one, toOne := api(t, nil)
	two, toTwo := api(t, nil)
	both := append(vendors(one.URL), Vendor{API: toyAPI{"other"}, Upstream: two.URL, Credential: Credential{Text: "key-of-the-other"}})
	p := start(t, Options{Vendors: both})
	a, b := p.Open(toy, ""), p.Open("other", "")
	for path, status := range map[string]int{
		"/i/other/" + a.token + "/v1/messages": 401, "/i/toy/" + b.token + "/v1/messages": 401, "/i/other/" + b.token + "/v1/messages": 401,
		"/i/toy/" + a.token + "/../../other/" + b.token + "/v1/messages": 404, "/i/toy/" + a.token + "/v1/messages": 200,
	} {
		answer, body := ask(t, p, func(r *http.Request) {
			r.URL.Opaque = "//" + p.address + path
			r.Header.Set("X-Api-Key", a.credential)
		})
		if answer.StatusCode != status {
			t.Errorf("%s: got %s %s, want %d", path, answer.Status, body, status)
		}
	}
	if got := toTwo.all(); len(got) > 0 {
		t.Errorf("the other API got %q, want nothing", got)
	}
	ask(t, p, func(r *http.Request) { *r = *request(b, "POST", "/v1/messages", nil) })
	for got, want := range map[string]string{strings.Join(toOne.all(), ""): realKey, strings.Join(toTwo.all(), ""): "key-of-the-other"} {
		if !strings.Contains(got, `key="`+want+`"`) {
			t.Errorf("an API got %q, want its key %q", got, want)
		}
	}
}

// TestModelsWithoutAPriceAreRefused, under a budget: what they cost would be seen by nobody.
func TestModelsWithoutAPriceAreRefused(t *testing.T) {
	p, got := metered(t)
	for budget, want := range map[state.USD]map[string]int{
		10 * perAnswer: {`{"model":"sonnet"}`: 200, `{"model":"other"}`: 400, `{"later":true}`: 400},
		state.MostUSD:  {`{"model":"sonnet"}`: 200, `{"model":"other"}`: 200, `{"later":true}`: 400},
	} {
		p.Allow(budget, []string{"one"})
		a := p.Open(toy, "one")
		for body, status := range want {
			before := len(got.all())
			answer, text := ask(t, p, func(r *http.Request) { of(a)(r); setBody(r, []byte(body)) })
			if answer.StatusCode != status || (len(got.all()) > before) != (status == 200) {
				t.Errorf("budget %s, %s: got %s %s, want %d", budget, body, answer.Status, text, status)
			}
		}
		a.Close()
	}
}

// late is an API that tells all tokens at the end of an answer.
type late struct{ toyAPI }

type lateCounter struct {
	asked   Request
	message *tally.Message
}

func (late) Counter(asked Request) Counter { return &lateCounter{asked: asked} }

func (c *lateCounter) Message() *tally.Message { return c.message }

func (c *lateCounter) Event(data, _ []byte) {
	if c.message == nil {
		c.message = tally.Begun("", "sonnet", c.asked.Size)
	}
	var input int64
	if n, _ := fmt.Sscanf(string(data), "all %d", &input); n == 1 {
		c.message.Took(state.Usage{Input: input})
	}
}

func (c *lateCounter) Whole([]byte, []byte) bool { return true }

// TestAnswersThatTellLateAreReadToTheirEnd: who leaves when an answer has begun does not keep
// it from being counted. Until its end it counts as what the request makes likely, which
// the API has not told.
func TestAnswersThatTellLateAreReadToTheirEnd(t *testing.T) {
	left := make(chan struct{})
	upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: begun\n\n")
		_ = http.NewResponseController(w).Flush()
		<-left
		io.WriteString(w, strings.Repeat("data: more\n\n", 10_000)+"data: all 1000\n\n")
	})
	p := start(t, Options{Vendors: []Vendor{{API: late{toyAPI{toy}}, Upstream: upstream.URL, Credential: Credential{Text: realKey}}}})
	a := p.Open(toy, "one")
	answer, err := plain.RoundTrip(request(a, "POST", "/v1/messages", strings.NewReader(strings.Repeat("x", 400))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(answer.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if got := a.AtLeast(); len(got) != 1 || got[0].Input != 100 || a.Metered()[0].Input != 0 {
		t.Errorf("as it begins: got %+v, told %+v, want 100 tokens of input, none of them told", got, a.Metered())
	}
	answer.Body.Close()
	close(left)
	until(func() bool { return a.Metered()[0].Input == 1000 })
}
