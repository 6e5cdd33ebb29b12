package codex

import (
	"bytes"
	"errors"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// cliLayout describes how the CLI counts tokens. Tokens read from the cache or written to it are
// included in the input.
var cliLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "cached_input_tokens", CacheWrite: "cache_write_input_tokens", InputIncludesCache: true,
}

// threadUsage is the usage of a thread up to some line of its rollout.
type threadUsage struct {
	Total state.Usage // running total, which a branch continues
	Model string      // model of the last request; "" if there was none
}

// usageLine is a line of a rollout, reduced to the token counts.
type usageLine struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string `json:"type"`
		Model string `json:"model"` // of turn_context
		Info  struct {
			Total jsontext.Value `json:"total_token_usage"`
		} `json:"info"` // of token_count
	} `json:"payload"`
}

const (
	maxModel  = 256 // bytes of a model's name
	maxModels = 100 // in one rollout
)

// add processes a line, and returns the tokens that it adds to the total.
func (c *threadUsage) add(l usageLine) state.Usage {
	switch {
	case l.Type == "turn_context" && len(l.Payload.Model) <= maxModel:
		c.Model = l.Payload.Model
	case l.Type == "event_msg" && l.Payload.Type == "token_count" && l.Payload.Info.Total.Kind() == '{':
		before := c.Total
		c.Total = cliLayout.Usage(l.Payload.Info.Total, "")
		return c.Total.Minus(before)
	}
	return state.Usage{}
}

// usageFrom returns the tokens in a rollout from a byte offset on, one element per model, in order
// of name.
func usageFrom(path string, from int64) ([]state.Usage, error) {
	_, list, err := readUsage(path, from)
	return list, err
}

// readUsage returns the usage of a thread, and the tokens by model from a byte offset of its
// rollout on. Unreadable lines are skipped.
func readUsage(path string, from int64) (c threadUsage, list []state.Usage, err error) {
	models := map[string]state.Usage{}
	err = transcripts.Read(path, 0, -1, func(at int64, text []byte, truncated bool) error {
		var l usageLine
		if truncated || !bytes.Contains(text, []byte(`"token_count"`)) && !bytes.Contains(text, []byte(`"turn_context"`)) || json.Unmarshal(text, &l, jsonstrict.Loose) != nil {
			return nil
		}
		if added := c.add(l); at >= from && added.Total() > 0 {
			added.Model = c.Model
			models[c.Model] = added.Plus(models[c.Model])
		}
		if len(models) > maxModels {
			return errors.New("not a rollout of the agent CLI")
		}
		return nil
	})
	return c, state.ByModel(maps.Values(models)), err
}
