package claude

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// costState is the line of a transcript in which the CLI keeps how far its count
// of the conversation has come.
type costState struct {
	Type       string         `json:"type"`
	TotalCost  jsontext.Value `json:"totalCostUSD"`
	ModelUsage jsontext.Value `json:"modelUsage"`
}

// before returns a function that tells how far the CLI's count of the session that
// an order goes on with had come. It looks only when it is asked, and then at no
// more than what the transcript has now: that of a session that is resumed grows.
func (b *Backend) before(o runner.Order) func() state.Reached {
	session := o.SessionID
	switch o.Session {
	case state.Branch:
		session = o.From
	case state.Resume:
	default:
		return func() state.Reached { return state.Reached{} }
	}
	path, ok := b.transcript(session, o.Dir)
	size, _ := b.Length(session, o.Dir)
	return func() state.Reached {
		if ok {
			if r, found := lastCount(path, size); found {
				return r
			}
		}
		if o.Reached != nil {
			return *o.Reached
		}
		return state.Reached{}
	}
}

// lastCount reads the newest count within the first size bytes of a transcript.
func lastCount(path string, size int64) (last state.Reached, found bool) {
	at := int64(0)
	_ = eachRecord(path, 0, func(line []byte, truncated bool) error {
		if at += int64(len(line)) + 1; at > size+1 {
			return errStop
		}
		var c costState
		if truncated || !bytes.Contains(line, []byte(`"cost-state"`)) || json.Unmarshal(line, &c, loose) != nil {
			return nil
		}
		if usd, ok := amount(c.TotalCost); ok && c.Type == "cost-state" {
			last, found = state.Reached{USD: usd, Models: byModel(c.ModelUsage)}, true
		}
		return nil
	})
	return last, found
}
