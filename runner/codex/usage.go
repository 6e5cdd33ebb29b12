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

// ofCLI is how the CLI counts. What came from the cache, and what was written to it, is a part of the input.
var ofCLI = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "cached_input_tokens", CacheWrite: "cache_write_input_tokens", InputIncludesCache: true,
}

// count is what a rollout tells of its thread up to some byte.
type count struct {
	Total state.Usage // the running sum, which a branch continues
	Model string      // that was asked last, "" when nobody was
}

// line is a line of a rollout, reduced to what is counted.
type line struct {
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

// take takes in a line, and returns the tokens that it adds to the sum.
func (c *count) take(l line) state.Usage {
	switch {
	case l.Type == "turn_context" && len(l.Payload.Model) <= maxModel:
		c.Model = l.Payload.Model
	case l.Type == "event_msg" && l.Payload.Type == "token_count" && l.Payload.Info.Total.Kind() == '{':
		before := c.Total
		c.Total = ofCLI.Usage(l.Payload.Info.Total, "")
		return c.Total.Minus(before)
	}
	return state.Usage{}
}

// used returns the tokens that a rollout tells from a byte on, one element a model, in order of name.
func used(path string, from int64) ([]state.Usage, error) {
	_, list, err := read(path, from)
	return list, err
}

// read returns what a rollout tells, and what came to it from a byte on, by model. What can't be read tells nothing.
func read(path string, from int64) (c count, list []state.Usage, err error) {
	models := map[string]state.Usage{}
	err = transcripts.Read(path, 0, -1, func(at int64, text []byte, truncated bool) error {
		var l line
		if truncated || !bytes.Contains(text, []byte(`"token_count"`)) && !bytes.Contains(text, []byte(`"turn_context"`)) || json.Unmarshal(text, &l, jsonstrict.Loose) != nil {
			return nil
		}
		if added := c.take(l); at >= from && added.Total() > 0 {
			added.Model = c.Model
			models[c.Model] = added.Plus(models[c.Model])
		}
		if len(models) > maxModels {
			return errors.New("this is no rollout of the CLI")
		}
		return nil
	})
	return c, state.ByModel(maps.Values(models)), err
}
