package gemini

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

const (
	firstPiece = `{"candidates":[{"content":{"parts":[{"text":"\"usageMetadata\":{}"}]}}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300},"responseId":"r"}`
	lastPiece  = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300,` +
		`"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1057},"responseId":"r"}`
)

// TestAnswersAreCounted checks the tokens that are counted for responses. Each event replaces the
// counts of earlier events. Cached tokens are part of the prompt and must not be counted twice.
// Thoughts must be counted as output.
func TestAnswersAreCounted(t *testing.T) {
	counted := keyproxy.Sum{Usage: state.Usage{Model: "m", Input: 707, Output: 50, CacheRead: 300}}
	for name, c := range map[string]struct {
		events []string
		whole  string // an object or an array, instead of events
		want   keyproxy.Sum
	}{
		"ended":         {events: []string{firstPiece, lastPiece}, want: counted},
		"broken off":    {events: []string{firstPiece}, want: keyproxy.Sum{Usage: state.Usage{Model: "m", Input: 700, CacheRead: 300}}},
		"no count":      {events: []string{`{"candidates":[{}]}`}},
		"an error":      {events: []string{`{"error":{"code":503}}`}},
		"no JSON":       {events: []string{"\x00{"}},
		"an object":     {whole: lastPiece, want: counted},
		"an array":      {whole: "\n[" + firstPiece + ",\n" + lastPiece + "]", want: counted},
		"a whole error": {whole: `{"error":{}}`},
	} {
		n := &counter{keyproxy.FinalCounter{Model: "m", Layout: apiLayout}}
		for _, e := range c.events {
			n.Event([]byte(e))
		}
		if c.whole != "" {
			n.Whole([]byte(c.whole))
		}
		got := keyproxy.Sum{}
		if n.Message() != nil {
			got = keyproxy.Sums{}.Add(n.Message())["m"]
		}
		assert.Check(t, is.Equal(got, c.want), name)
	}
}
