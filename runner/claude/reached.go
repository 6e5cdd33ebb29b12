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

// priorCount is where it is written how far the CLI's count of a session had come
// before a process resumed or branched it. The zero value is that of a fresh
// session.
type priorCount struct {
	path  string             // the transcript; "" when there is none
	size  int64              // what it had when the process began: it grows with a resumed session
	known state.RunningTotal // what the run knows itself
}

// priorCount finds the count that an order continues.
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
	p.path, _, _ = keptOf(b.Env).Path(session, o.Dir)
	p.size, _ = transcripts.Size(p.path)
	return p
}

// read returns the newest count. That of the transcript goes before what the run
// knows: it has processes that were killed too, and is cut back with the conversation.
// Of a very long one only the end is read.
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
	return last // what is known, of a transcript that can't be read
}
