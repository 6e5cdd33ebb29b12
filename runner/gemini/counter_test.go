package gemini

import (
	"testing"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

const (
	firstPiece = `{"candidates":[{"content":{"parts":[{"text":"\"usageMetadata\":{}"}]}}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300},"responseId":"r"}`
	lastPiece  = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":300,` +
		`"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1057},"responseId":"r"}`
)

func sumOf(count func(*counter)) tally.Sum {
	c := &counter{tally.Answer{Model: "m", Asked: 400}}
	if count(c); c.Message() == nil {
		return tally.Sum{}
	}
	return tally.Sums{}.Add(c.Message())["m"]
}

var (
	counted = tally.Sum{Usage: state.Usage{Model: "m", Input: 707, Output: 50, CacheRead: 300}}
	some    = tally.Sum{Usage: state.Usage{Model: "m", Input: 700, CacheRead: 300}}
	none    = tally.Sum{}
	// guessed is what is known of a request of 400 bytes whose answer counts nothing.
	guessed = tally.Sum{Usage: state.Usage{Model: "m", Input: 100}, Asked: 100}
)

// TestAnswersAreCounted: each piece counts counted up to there. What is cached is a part of the
// prompt, and is not counted twice; thoughts are output.
func TestAnswersAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   tally.Sum
	}{
		"whole":      {[]string{firstPiece, lastPiece}, counted},
		"broken off": {[]string{firstPiece}, some},
		"no count":   {[]string{`{"candidates":[{}]}`}, guessed},
		"an error":   {[]string{`{"error":{"code":503}}`}, none},
		"no JSON":    {[]string{"\x00{"}, none},
	} {
		got := sumOf(func(n *counter) {
			for _, e := range c.events {
				n.Event([]byte(e), nil)
			}
		})
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if got := sumOf(func(n *counter) { n.Event([]byte(`{"candidates":[{"content"`), []byte(lastPiece[20:])) }); got != counted {
		t.Errorf("a long event: got %+v, want %+v", got, counted)
	}
}

// TestWholeAnswersAreCounted: those that are no stream of events, but an object or an array.
func TestWholeAnswersAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		data, end string
		counted   bool
		want      tally.Sum
	}{
		"an object":    {lastPiece, "", true, counted},
		"an array":     {"\n[" + firstPiece + ",\n" + lastPiece + "]", "", true, counted},
		"an error":     {`{"error":{}}`, "", true, none},
		"too long":     {firstPiece, lastPiece[20:], true, counted},
		"counted long": {firstPiece, "…", false, none},
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
