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

// priorCount finds the counts that the CLI had stored for a session before a process resumed or branched
// the session. The zero value is for a new session, whose counts are zero.
type priorCount struct {
	path  string             // path of the transcript; "" if there is none
	size  int64              // size of the transcript when the process began; the process may extend it
	known state.RunningTotal // the counts that the state file contains
}

// priorCount returns the counts with which the process of an order begins.
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

// read returns the newest counts in the transcript. They take precedence over the known counts, because they
// include the usage of processes that were killed, and because they are cut back together with the
// conversation. If the transcript is very long, only its end is read. If that part contains no counts, read
// returns the known counts.
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
	return last // the known counts if the transcript can't be read
}
