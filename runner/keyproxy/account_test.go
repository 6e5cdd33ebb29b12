package keyproxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// begins is how a streamed answer begins, with 1000 tokens of input.
func begins(model string) string {
	return `event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","model":"` + model +
		`","usage":{"input_tokens":1000,"output_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300}}}` + "\n\n"
}

const (
	writes   = "event: content_block_delta\r\ndata: " + `{"type":"content_block_delta","delta":{"type":"text_delta","text":"%s"}}` + "\r\n\r\n"
	countsTo = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}` + "\n\n"
	ends     = `data: {"type":"message_stop"}` + "\n\n"
)

func used(model string, output, guess int64) []Sum {
	return []Sum{{Usage: state.Usage{Model: model, Input: 1000, Output: output, CacheWrite: 20, CacheRead: 300}, Guess: guess}}
}

// TestAnswersAreCounted: what an answer began with, and its output so far, also when
// it is cut, comes in any pieces, or is no stream; and no byte of it is changed. One that can't be counted costs what was reserved.
func TestAnswersAreCounted(t *testing.T) {
	long := fmt.Sprintf(writes, strings.Repeat("x", 4000))
	huge := fmt.Sprintf(writes, strings.Repeat("x", 200_000))
	whole := `{"id":"m","type":"message","model":"sonnet","content":[{"text":"\"usage\":{\"input_tokens\":7}"}],` +
		`"usage":{"input_tokens":1000,"output_tokens":9,"cache_creation_input_tokens":20,"cache_read_input_tokens":300}}`
	reserved := func(sum Sum, usd state.USD) []Sum {
		sum.Surcharge, sum.Reserved = usd, usd
		return []Sum{sum}
	}
	all := reserved(Sum{}, 64004*state.Dollar/1000) // 4 bytes and 32,000 tokens
	const sse, json = "text/event-stream; charset=utf-8", "application/json"
	for name, c := range map[string]struct {
		kind, body string
		want       []Sum
	}{
		"whole stream":      {sse, begins("sonnet") + long + fmt.Sprintf(countsTo, 5) + fmt.Sprintf(countsTo, 9) + ends, used("sonnet", 9, 0)},
		"cut at once":       {sse, begins("sonnet"), used("sonnet", 1, 0)},
		"cut in the middle": {sse, begins("sonnet") + long, used("sonnet", 1000, 999)},
		"cut in a line":     {sse, begins("sonnet") + long[:200], used("sonnet", 1, 0)},
		"a long line":       {sse, begins("sonnet") + huge + fmt.Sprintf(countsTo, 9), used("sonnet", 9, 0)},
		"too long a line":   {sse, begins("sonnet") + "data: " + strings.Repeat("x", longestPart) + "\n\n", reserved(used("sonnet", 1, 0)[0], 63998*state.Dollar/1000)},
		"an error at once":  {sse, `data: {"type":"error","error":{"type":"overloaded_error"}}` + "\n\n", nil},
		"no stream":         {json, whole, used("sonnet", 9, 0)},
		"half of no stream": {json, whole[:100], all},
		"no message":        {json, `{"usage":{"input_tokens":7}}`, all},
		"nothing":           {sse, "", all},
		"too long":          {json, `{"x":"` + strings.Repeat("x", longestPart) + `",` + whole[1:], all},
		"no JSON":           {json, "\x00\xff{", all},
		"packed":            {sse, begins("sonnet"), all},
		"another kind":      {"text/plain", whole, all},
	} {
		sizes := []int{13, 1 << 20}
		if len(c.body) > 1<<20 {
			sizes = sizes[1:]
		}
		for _, size := range sizes {
			upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				if name == "packed" {
					w.Header().Set("Content-Encoding", "gzip")
				}
				for piece := []byte(c.body); len(piece) > 0; piece = piece[min(size, len(piece)):] {
					_, _ = w.Write(piece[:min(size, len(piece))])
					if len(c.body) < 1<<16 {
						_ = http.NewResponseController(w).Flush()
					}
				}
			})
			p := start(t, Options{Vendors: vendors(upstream.URL), Price: func(string) (state.Price, bool) { return state.Price{Input: 1e3, Output: 2e3}, true }})
			a := p.Open(toy, "")
			_, body := ask(t, p, of(a))
			assert.Check(t, is.Equal(body, c.body), "%s in pieces of %d: the client", name, size)
			p.Close() // all is over
			assert.Check(t, is.DeepEqual(a.Used(), c.want, cmp.Transformer("none", none)), "%s in pieces of %d", name, size)
		}
	}
}

// none makes no difference between an empty list and none.
func none(list []Sum) string { return fmt.Sprintf("%+v", append([]Sum{}, list...)) }

// of sends a request on the path of an account, with its credential.
func of(a *Account) func(*http.Request) {
	return func(r *http.Request) {
		_, path, _ := strings.Cut(r.URL.Path, "/v1/")
		r.URL.Path = prefix + toy + "/" + a.token + "/v1/" + path
		r.Header.Set("X-Api-Key", a.credential)
	}
}

// request is one of the agent CLI's with an account.
func request(a *Account, method, path string, body io.Reader) *http.Request {
	r, err := http.NewRequest(method, a.Access().URL+path, body)
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-Api-Key", a.credential)
	return r
}

// TestWhatIsUsedIsKnownAtOnce: as soon as the client has the message's beginning, it is counted
// and told, and so is its end, though the client leaves: whoever is killed while nothing is asked has saved all that was counted.
func TestWhatIsUsedIsKnownAtOnce(t *testing.T) {
	told, more := make(chan []state.Usage), make(chan struct{})
	upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begins("sonnet"))
		_ = http.NewResponseController(w).Flush()
		<-more
		io.WriteString(w, fmt.Sprintf(countsTo, 9)+ends)
	})
	a := start(t, Options{Vendors: vendors(upstream.URL)}).Open(toy, "")
	answer, err := plain.RoundTrip(request(a, "POST", "/v1/messages", nil))
	assert.NilError(t, err)
	_, err = io.ReadFull(answer.Body, make([]byte, len(begins("sonnet"))))
	assert.NilError(t, err)
	defer a.Watch(func(list []state.Usage) { told <- list })()
	if got := <-told; len(got) != 1 || got[0].Input != 1000 {
		t.Errorf("told: got %+v, want 1000 tokens of input", got)
	}
	assert.Check(t, is.DeepEqual(a.Used(), used("sonnet", 1, 0)), "in mid-answer")
	answer.Body.Close()
	close(more)
	got := <-told
	assert.Check(t, got[0].Output == 9, "told at the end, when the client has left: got %+v, want 9 tokens of output", got)
}

// TestAccountsAreApart: two invocations at once are counted each for itself, by all
// of their requests; what asks without the path of one that is under way, or for
// nothing that costs, is counted for nobody.
func TestAccountsAreApart(t *testing.T) {
	upstream, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begins(r.Header.Get("Model"))+fmt.Sprintf(countsTo, 9))
	})
	p := start(t, Options{Vendors: vendors(upstream.URL)})
	one, two := p.Open(toy, ""), p.Open(toy, "")
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			a := one
			if i%3 == 0 {
				a = two
			}
			ask(t, p, func(r *http.Request) { of(a)(r); r.Header.Set("Model", "sonnet") })
		})
	}
	all.Wait()
	own := "/i/toy/" + one.token
	for path, status := range map[string]int{
		"/v1/messages": 401, "/i/toy/x/v1/messages": 401, "/i/toy//v1/messages": 401, own: 401, own + "x/v1/messages": 401,
		"/i/" + one.token + "/v1/messages": 401, "/i/other/" + one.token + "/v1/messages": 401,
		own + "/i/toy/" + two.token + "/v1/messages": 404, own + "/v1/count": 200,
		"/%69/toy/" + one.token + "/v1/messages": 200, // the same path, written otherwise
	} {
		answer, _ := ask(t, p, func(r *http.Request) {
			r.Header.Set("X-Api-Key", one.credential)
			r.URL.Opaque = "//" + p.address + path
			r.Header.Set("Model", "haiku")
		})
		assert.Check(t, answer.StatusCode == status || (strings.HasPrefix(path, "/%") && answer.StatusCode == 401), "%s: got %s, want %d", path, answer.Status, status)
	}
	for i, a := range []*Account{one, two} {
		n := []int64{20, 10}[i]
		want := []Sum{{Usage: state.Usage{Model: "sonnet", Input: n * 1000, Output: n * 9, CacheWrite: n * 20, CacheRead: n * 300}}}
		assert.Check(t, is.DeepEqual(a.Used(), want), "account %d", i)
	}
}

// TestFeesThatNobodyKnows: an answer that counts something of which nobody knows the price has an unknown cost,
// and that is logged once.
func TestFeesThatNobodyKnows(t *testing.T) {
	for usage, want := range map[string]bool{
		`"server_tool_use":{"x_requests":3}`: true, `"server_tool_use":{"minutes":0.5}`: true, `"x":{"y_requests":1}`: true, `"x_tokens":5`: true,
		`"input_tokens_details":{"x":[{"count":5}]},"x_tokens":-0.0`:                        false,
		`"server_tool_use":{"x_requests":0,"web_search_requests":2}`:                        false,
		`"server_tool_use":"x","cache_creation":5,"iterations":[{"input_tokens":5}],"x":[]`: false,
	} {
		upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"type":"message","model":"sonnet","usage":{"input_tokens":1000,`+usage+`}}`)
		})
		var log []string
		p := start(t, Options{Vendors: vendors(upstream.URL), Log: func(line string) { log = append(log, line) }})
		a := p.Open(toy, "one")
		for range 2 {
			ask(t, p, of(a))
		}
		a.underway.Wait()
		got := a.Metered()
		assert.Check(t, len(got) == 1 && got[0].Input == 2000 && got[0].HasFees == want && len(log) == map[bool]int{true: 1}[want], "%s: got %+v, log %q", usage, got, log)
	}
}
