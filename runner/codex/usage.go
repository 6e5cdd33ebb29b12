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

// cliLayout describes how the CLI counts tokens. The input includes the tokens that were read from
// the cache or written to it.
var cliLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "cached_input_tokens", CacheWrite: "cache_write_input_tokens", InputIncludesCache: true,
}

// threadUsage contains the tokens that a thread has used up to some line of its rollout.
type threadUsage struct {
	Total state.Usage // running total, which continues in a branch
	Model string      // model of the last request; empty before the first one
}

// usageLine is a line of a rollout, reduced to the fields needed to count tokens.
type usageLine struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string `json:"type"`
		Model string `json:"model"` // in a turn_context
		Info  struct {
			Total jsontext.Value `json:"total_token_usage"`
		} `json:"info"` // in a token_count
	} `json:"payload"`
}

const (
	maxModel  = 256 // bytes of a model's name
	maxModels = 100 // number of models in one rollout
)

// add handles a line, and returns the tokens that the line adds to the total.
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

// usageFrom returns the tokens in a rollout from a byte offset on. It returns one element for each
// model, sorted by name.
func usageFrom(path string, from int64) ([]state.Usage, error) {
	_, list, err := readUsage(path, from)
	return list, err
}

// readUsage returns the usage of a thread at the end of its rollout, and the tokens for each model
// from a byte offset on. It skips lines that it can't decode.
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
