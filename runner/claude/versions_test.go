package claude

import (
	"fmt"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/state"
)

// resultLine is a result record as a version of the CLI writes it: total and share are
// in cents; of a share below zero nothing is said.
func resultLine(total, share int) string {
	usage := func(cents int) string {
		return fmt.Sprintf(`{"opus":{"inputTokens":%d,"outputTokens":%d,"costUSD":%d.%02d}}`, cents*10, cents, cents/100, cents%100)
	}
	since := ""
	if share >= 0 {
		since = `,"model_usage_since_last_result":` + usage(share)
	}
	return fmt.Sprintf(`{"type":"result","subtype":"success","stop_reason":"end_turn","session_id":%q,"total_cost_usd":%d.%02d,"modelUsage":%s%s}`,
		chosen, total/100, total%100, usage(total), since)
}

// TestShares: whatever a version of the CLI counts, what is booked is the share of the process,
// in all and by model; where nobody tells it, nothing is exact.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name, version string
		session       state.SessionMode
		results       []string
		want          int64 // cents; -1: not exact
	}{
		{"of the process", "2.1.276", state.Resume, []string{resultLine(125, -1)}, 125},
		{"no version", "", state.Branch, []string{resultLine(125, -1)}, 125},
		{"goes on counting", "2.1.277", state.Resume, []string{resultLine(250, -1)}, -1},
		{"goes on counting, begins", "2.1.278", state.Fresh, []string{resultLine(125, -1)}, 125},
		{"tells its share", "2.1.330", state.Branch, []string{resultLine(375, 125)}, 125},
		{"tells two shares", "2.1.330", state.Resume, []string{resultLine(300, 50), resultLine(375, 75)}, 125},
		{"tells one of two shares", "2.1.330", state.Resume, []string{resultLine(300, 50), resultLine(375, -1)}, -1},
		{"a share of nothing", "2.1.330", state.Resume, []string{resultLine(250, 0)}, 0},
	} {
		s := newStream(runner.Order{Prompt: runner.PromptOrder{Session: c.session, SessionID: chosen}}, nil)
		s.Write([]byte(`{"type":"system","subtype":"init","session_id":"` + chosen + `","claude_code_version":"` + c.version + `"}` + "\n"))
		for _, line := range c.results {
			s.Write([]byte(line + "\n"))
		}
		got := s.costs.total()
		byModel := state.USD(0)
		for _, m := range got.Usage {
			byModel += m.CostUSD
		}
		isExact := got.Kind == state.Exact && got.USD == byModel && len(got.Beyond) == 0
		if want := state.USD(c.want) * state.Dollar / 100; isExact != (c.want >= 0) || isExact && got.USD != want {
			t.Errorf("%s: got %+v, want exactly $%s by model, or nothing exact for less than nothing", c.name, got, want)
		}
	}
}

// counted is a proxy that has counted something.
type counted []tally.Sum

func (c counted) Used() []tally.Sum      { return c }
func (c counted) Metered() []state.Usage { return tally.Usage(c) }

// TestProxyCountsBeforeTheStream: what the proxy counted goes before what the stream
// shows, and where it could count nothing the stream is what there is.
func TestProxyCountsBeforeTheStream(t *testing.T) {
	streamed := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"opus","usage":{"input_tokens":50}}}}`
	for _, c := range []struct {
		proxied, share int
		want           int64 // of input, beyond what the CLI says
	}{{300, -1, 300}, {300, 20, 100}, {300, 40, 0}, {0, -1, 50}} {
		s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, nil)
		if c.proxied > 0 {
			s.costs.proxy = counted{{Usage: state.Usage{Model: "opus", Input: int64(c.proxied)}}}
		}
		s.Write([]byte(streamed + "\n"))
		if c.share >= 0 {
			s.Write([]byte(resultLine(c.share, c.share) + "\n"))
		}
		got := int64(0)
		for _, u := range s.costs.total().Beyond {
			got += u.Input
		}
		if got != c.want {
			t.Errorf("%+v: got %d tokens of input beyond the CLI's share, want %d", c, got, c.want)
		}
	}
}
