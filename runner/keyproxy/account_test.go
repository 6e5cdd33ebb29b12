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

// startEvent returns the first event of a streamed message with 1000 input tokens.
func startEvent(model string) string {
	return `event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","model":"` + model +
		`","usage":{"input_tokens":1000,"output_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300}}}` + "\n\n"
}

const (
	textEvent  = "event: content_block_delta\r\ndata: " + `{"type":"content_block_delta","delta":{"type":"text_delta","text":"%s"}}` + "\r\n\r\n"
	deltaEvent = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}` + "\n\n"
	stopEvent  = `data: {"type":"message_stop"}` + "\n\n"
)

// sums returns the counts of a response that begins with startEvent. guess is the estimated part of the
// output.
func sums(model string, output, guess int64) []Sum {
	return []Sum{{Usage: state.Usage{Model: model, Input: 1000, Output: output, CacheWrite: 20, CacheRead: 300}, Guess: guess}}
}

// TestAnswersAreCounted checks that the input and the output so far of a response are counted, even if the
// response breaks off, arrives in small pieces or is not a stream. It also checks that the client receives
// every response unchanged, and that a response that can't be counted costs the reserved amount.
func TestAnswersAreCounted(t *testing.T) {
	long := fmt.Sprintf(textEvent, strings.Repeat("x", 4000))
	huge := fmt.Sprintf(textEvent, strings.Repeat("x", 200_000))
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
		"whole stream":      {sse, startEvent("sonnet") + long + fmt.Sprintf(deltaEvent, 5) + fmt.Sprintf(deltaEvent, 9) + stopEvent, sums("sonnet", 9, 0)},
		"cut at once":       {sse, startEvent("sonnet"), sums("sonnet", 1, 0)},
		"cut in the middle": {sse, startEvent("sonnet") + long, sums("sonnet", 1000, 999)},
		"cut in a line":     {sse, startEvent("sonnet") + long[:200], sums("sonnet", 1, 0)},
		"a long line":       {sse, startEvent("sonnet") + huge + fmt.Sprintf(deltaEvent, 9), sums("sonnet", 9, 0)},
		"too long a line":   {sse, startEvent("sonnet") + "data: " + strings.Repeat("x", maxCounted) + "\n\n", reserved(sums("sonnet", 1, 0)[0], 63998*state.Dollar/1000)},
		"an error at once":  {sse, `data: {"type":"error","error":{"type":"overloaded_error"}}` + "\n\n", nil},
		"no stream":         {json, whole, sums("sonnet", 9, 0)},
		"half of no stream": {json, whole[:100], all},
		"no message":        {json, `{"usage":{"input_tokens":7}}`, all},
		"nothing":           {sse, "", all},
		"too long":          {json, `{"x":"` + strings.Repeat("x", maxCounted) + `",` + whole[1:], all},
		"no JSON":           {json, "\x00\xff{", all},
		"packed":            {sse, startEvent("sonnet"), all},
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
			_, body := ask(t, p, forAccount(a))
			assert.Check(t, is.Equal(body, c.body), "%s in pieces of %d: the client", name, size)
			p.Close() // waits until all responses have ended
			assert.Check(t, is.DeepEqual(a.Used(), c.want, cmp.Transformer("none", formatSums)), "%s in pieces of %d", name, size)
		}
	}
}

// formatSums formats a list. The result is the same for nil and for an empty list.
func formatSums(list []Sum) string { return fmt.Sprintf("%+v", append([]Sum{}, list...)) }

// forAccount returns a function that changes a request: it sets the path and the credential of an account.
func forAccount(a *Account) func(*http.Request) {
	return func(r *http.Request) {
		_, path, _ := strings.Cut(r.URL.Path, "/v1/")
		r.URL.Path = prefix + toy + "/" + a.token + "/v1/" + path
		r.Header.Set("X-Api-Key", a.credential)
	}
}

// request returns a request with the path and the credential of an account.
func request(a *Account, method, path string, body io.Reader) *http.Request {
	r, err := http.NewRequest(method, a.Access().URL+path, body)
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-Api-Key", a.credential)
	return r
}

// TestUsageIsReportedAtOnce checks that the counts of a message are reported as soon as the client has
// received its beginning, and again at its end, even if the client has left. The caller can save them then,
// so a killed process loses no counts.
func TestUsageIsReportedAtOnce(t *testing.T) {
	reports, more := make(chan []state.Usage), make(chan struct{})
	upstream, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, startEvent("sonnet"))
		_ = http.NewResponseController(w).Flush()
		<-more
		io.WriteString(w, fmt.Sprintf(deltaEvent, 9)+stopEvent)
	})
	a := start(t, Options{Vendors: vendors(upstream.URL)}).Open(toy, "")
	answer, err := plainClient.RoundTrip(request(a, "POST", "/v1/messages", nil))
	assert.NilError(t, err)
	_, err = io.ReadFull(answer.Body, make([]byte, len(startEvent("sonnet"))))
	assert.NilError(t, err)
	defer a.Watch(func(list []state.Usage) { reports <- list })()
	if got := <-reports; len(got) != 1 || got[0].Input != 1000 {
		t.Errorf("reported: got %+v, want 1000 tokens of input", got)
	}
	assert.Check(t, is.DeepEqual(a.Used(), sums("sonnet", 1, 0)), "in mid-answer")
	answer.Body.Close()
	close(more)
	got := <-reports
	assert.Check(t, got[0].Output == 9, "reported at the end, when the client has left: got %+v, want 9 tokens of output", got)
}

// TestAccountsAreSeparate checks that two invocations that run at the same time are counted separately. It
// also checks that requests without the path of an open account, and requests that cost nothing, are not
// counted.
func TestAccountsAreSeparate(t *testing.T) {
	upstream, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, startEvent(r.Header.Get("Model"))+fmt.Sprintf(deltaEvent, 9))
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
			ask(t, p, func(r *http.Request) { forAccount(a)(r); r.Header.Set("Model", "sonnet") })
		})
	}
	all.Wait()
	own := "/i/toy/" + one.token
	for path, status := range map[string]int{
		"/v1/messages": 401, "/i/toy/x/v1/messages": 401, "/i/toy//v1/messages": 401, own: 401, own + "x/v1/messages": 401,
		"/i/" + one.token + "/v1/messages": 401, "/i/other/" + one.token + "/v1/messages": 401,
		own + "/i/toy/" + two.token + "/v1/messages": 404, own + "/v1/count": 200,
		"/%69/toy/" + one.token + "/v1/messages": 200, // the same path with an escaped character
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

// TestUnknownFees checks that the cost of an invocation is unknown if a response contains an unknown counter,
// and that this is logged only once.
func TestUnknownFees(t *testing.T) {
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
			ask(t, p, forAccount(a))
		}
		a.pending.Wait()
		got := a.Metered()
		assert.Check(t, len(got) == 1 && got[0].Input == 2000 && got[0].HasFees == want && len(log) == map[bool]int{true: 1}[want], "%s: got %+v, log %q", usage, got, log)
	}
}

// TestEnvironmentOfTheCLI checks that each account has a different address and credential, and that NO_PROXY
// keeps the CLI from connecting to the key proxy through a proxy of the job.
func TestEnvironmentOfTheCLI(t *testing.T) {
	for name, c := range map[string]struct{ environ, before, want []string }{
		"nothing": {nil, nil, []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}},
		"one":     {[]string{"NO_PROXY=a, .b"}, nil, []string{"NO_PROXY=a, .b,127.0.0.1", "no_proxy=a, .b,127.0.0.1"}},
		"two":     {[]string{"no_proxy=x", "NO_PROXY=y,127.0.0.1"}, nil, []string{"NO_PROXY=y,127.0.0.1", "no_proxy=y,127.0.0.1"}},
		"all":     {[]string{"NO_PROXY=old", "NO_PROXY=*"}, nil, []string{"NO_PROXY=*", "no_proxy=*"}},
		"caged":   {[]string{"NO_PROXY=*"}, []string{"NO_PROXY=a,127.0.0.1", "no_proxy=a,127.0.0.1"}, []string{"NO_PROXY=a,127.0.0.1", "no_proxy=a,127.0.0.1"}},
	} {
		p := start(t, Options{Vendors: vendors(""), Environ: c.environ})
		a, b := p.Open(toy, ""), p.Open(toy, "")
		want := append([]string{"TOY_URL=http://" + p.address + "/i/toy/" + a.token, "TOY_KEY=" + a.credential}, c.want...)
		assert.Check(t, is.DeepEqual(a.Env(c.before), want), name)
		assert.Check(t, a.credential != b.credential && len(a.credential) >= 20 && a.token != b.token, "%s: credentials %q and %q, paths %q and %q, want others for each account", name, a.credential, b.credential, a.token, b.token)
	}
	a := start(t, Options{Vendors: vendors("")}).Open("other", "")
	assert.Check(t, is.Nil(a), "an agent CLI without a key")
}
