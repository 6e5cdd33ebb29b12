package claude

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// priorCount finds the CLI's count of a session before a process resumed or branched the session. The
// zero value is for a fresh session, whose count is zero.
type priorCount struct {
	path  string             // of the transcript; "" without a transcript
	size  int64              // of the transcript when the process began, since a resumed session extends it
	known state.RunningTotal // the count that the run itself knows
}

// priorCount returns the count that the process of an order continues.
func (b *Backend) priorCount(o runner.Order) priorCount {
	session := o.Prompt.SessionID
	switch o.Prompt.Session {
	case state.Branch:
		session = o.Prompt.From
	case state.Resume:
	default:
		return priorCount{}
	}
	p := priorCount{known: o.Prompt.Reached}
	p.path, _, _ = transcriptsOf(b.Env).Path(session, o.Dir)
	p.size, _ = transcripts.Size(p.path)
	return p
}

// read returns the newest count. The transcript takes precedence over the count that the run knows: it
// includes processes that were killed, and it is cut back together with the conversation. Only the end
// of a very long transcript is read.
func (p priorCount) read() state.RunningTotal {
	last := p.known
	_ = transcripts.Read(p.path, max(0, p.size-transcripts.MaxRead), p.size, func(_ int64, line []byte, truncated bool) error {
		if truncated || !bytes.Contains(line, []byte(`"cost-state"`)) || typeOf(line) != "cost-state" {
			return nil
		}
		var c struct {
			TotalCost  jsontext.Value `json:"totalCostUSD"`
			ModelUsage jsontext.Value `json:"modelUsage"`
		}
		if json.Unmarshal(line, &c, jsonstrict.Loose) != nil {
			return nil
		}
		if usd, ok := program.ParseDollars(c.TotalCost); ok {
			last = state.RunningTotal{USD: usd, Models: byModel(c.ModelUsage)}
		}
		return nil
	})
	return last // the known count if the transcript can't be read
}
