package codex

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

const (
	begun  = `{"type":"response.created","response":{"id":"r1","object":"response","status":"in_progress","usage":null}}`
	wrote  = `{"type":"response.output_text.delta","delta":"12345678"}`
	counts = `"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":300,"cache_write_tokens":100},"output_tokens":50,` +
		`"output_tokens_details":{"reasoning_tokens":20},"total_tokens":1050}`
	completed = `{"type":"response.completed","response":{"id":"r1","model":"m-2026-01-01","output":[{"text":"\"usage\":{\"input_tokens\":1}"}],` + counts + `}}`
)

// sumOf is what a counter has counted, of a request of 400 bytes for model m.
func sumOf(count func(*counter)) tally.Sum {
	c := &counter{tally.Answer{Model: "m", Asked: 400}}
	if count(c); c.Message() == nil {
		return tally.Sum{}
	}
	return tally.Sums{}.Add(c.Message())["m"]
}

// TestAnswersAreCounted: what is cached is a part of the input, and is not counted twice. Of
// an answer that breaks off the tokens are estimated. The model is the one asked for.
func TestAnswersAreCounted(t *testing.T) {
	all := tally.Sum{Usage: state.Usage{Model: "m", Input: 600, Output: 50, CacheRead: 300, CacheWrite: 100}}
	metadata := `,"user":null,"metadata":{"usage":"{\"input_tokens\":1}"}}}`
	for name, c := range map[string]struct {
		events []string
		want   tally.Sum
	}{
		"whole":             {[]string{begun, wrote, completed}, all},
		"incomplete":        {[]string{begun, strings.Replace(completed, "completed", "incomplete", 1)}, all},
		"broken off":        {[]string{begun, wrote, wrote}, tally.Sum{Usage: state.Usage{Model: "m", Input: 100, Output: 4}, Guess: 4, Asked: 100}},
		"at once":           {[]string{begun}, tally.Sum{Usage: state.Usage{Model: "m", Input: 100}, Asked: 100}},
		"failed":            {[]string{begun, `{"type":"response.failed","response":{"usage":null,"error":{"code":"server_is_overloaded"}}}`}, tally.Sum{Usage: state.Usage{Model: "m"}}},
		"an error":          {[]string{`{"type":"error","code":"x"}`}, tally.Sum{}},
		"no JSON":           {[]string{"\x00\xff{", `"usage"`}, tally.Sum{}},
		"no numbers":        {[]string{begun, `{"type":"response.completed","response":{"usage":{"input_tokens":"1000","output_tokens":-5}}}`}, tally.Sum{Usage: state.Usage{Model: "m"}}},
		"a long event":      {[]string{begun, `{"type":"response.completed","response":{"instructions":"…` + "\x00" + completed[60:]}, all},
		"a forged one":      {[]string{begun, "{\x00" + `"tools":[{"parameters":{"usage":{"input_tokens":1}}}],` + counts + metadata}, all},
		"a long, cut event": {[]string{begun, "{\x00" + counts[:20]}, tally.Sum{Usage: state.Usage{Model: "m", Input: 100}, Asked: 100}},
	} {
		got := sumOf(func(n *counter) {
			for _, e := range c.events {
				if data, end, isLong := strings.Cut(e, "\x00"); isLong && name != "no JSON" {
					n.Event([]byte(data), []byte(end))
				} else {
					n.Event([]byte(e), nil)
				}
			}
		})
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// TestWholeAnswersAreCounted: those that are no stream.
func TestWholeAnswersAreCounted(t *testing.T) {
	all := tally.Sum{Usage: state.Usage{Model: "m", Input: 600, Output: 50, CacheRead: 300, CacheWrite: 100}}
	for name, c := range map[string]struct {
		data, end string
		counted   bool
		want      tally.Sum
	}{
		"whole":        {`{"id":"r","object":"response",` + counts + `}`, "", true, all},
		"another one":  {`{"object":"list",` + counts + `}`, "", true, tally.Sum{}},
		"too long":     {`{"object":"response","instructions":"…`, `…",` + strings.Replace(counts, `"usage":`, `"usage" : `, 1) + `}`, true, all},
		"too long too": {`{"object":"response","instructions":"…`, `…"}`, false, tally.Sum{}},
	} {
		got := sumOf(func(n *counter) {
			var end []byte
			if c.end != "" {
				end = []byte(c.end)
			}
			if got := n.Whole([]byte(c.data), end); got != c.counted {
				t.Errorf("%s: got counted %v, want %v", name, got, c.counted)
			}
		})
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
