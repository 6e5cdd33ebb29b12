package codex

import (
	"bytes"
	"errors"
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/raymond-action/raymond-action/runner/tally"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// tokens are counts as the CLI tells them. What came from the cache, and what was written to
// it, is a part of the input.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// Usage returns the tokens as those of a model.
func (t tokens) Usage(model string) state.Usage {
	u := state.Usage{Model: model, Output: max(0, t.Output), CacheRead: max(0, t.Cached), CacheWrite: max(0, t.CacheWrite)}
	u.Input = max(0, t.Input-u.CacheRead-u.CacheWrite)
	return u
}

// Since returns what was counted since before, never below zero.
func (t tokens) Since(before tokens) tokens {
	return tokens{
		Input: max(0, t.Input-before.Input), Cached: max(0, t.Cached-before.Cached),
		CacheWrite: max(0, t.CacheWrite-before.CacheWrite), Output: max(0, t.Output-before.Output),
	}
}

// count is what a rollout tells of its thread up to some byte.
type count struct {
	Total tokens // the running sum, which a branch continues
	Model string // that was asked last, "" when nobody was
}

// line is a line of a rollout, reduced to what is counted.
type line struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string `json:"type"`
		Model string `json:"model"` // of turn_context
		Info  struct {
			Total *tokens `json:"total_token_usage"`
		} `json:"info"` // of token_count
	} `json:"payload"`
}

const (
	maxModel  = 256 // bytes of a model's name
	maxModels = 100 // in one rollout
)

// readCount returns what the first size bytes of a rollout tell.
func readCount(path string, size int64) (c count) {
	_ = each(path, size, func(_ int64, l line) error { // what can't be read tells nothing
		c.take(l)
		return nil
	})
	return c
}

// take takes in a line, and returns the tokens that it adds to the sum.
func (c *count) take(l line) tokens {
	switch {
	case l.Type == "turn_context" && len(l.Payload.Model) <= maxModel:
		c.Model = l.Payload.Model
	case l.Type == "event_msg" && l.Payload.Type == "token_count" && l.Payload.Info.Total != nil:
		before := c.Total
		c.Total = *l.Payload.Info.Total
		return c.Total.Since(before)
	}
	return tokens{}
}

// used returns the tokens that a rollout tells from a byte on, one element a model, in order of name.
func used(path string, from int64) ([]state.Usage, error) {
	c, models := count{}, map[string]state.Usage{}
	err := each(path, -1, func(at int64, l line) error {
		if added := c.take(l); at >= from && added != (tokens{}) {
			models[c.Model] = added.Usage(c.Model).Plus(models[c.Model])
		}
		if len(models) > maxModels {
			return errors.New("this is no rollout of the CLI")
		}
		return nil
	})
	return tally.ByModel(maps.Values(models)), err
}

// each calls take with the lines in the first size bytes of a rollout that count, and the place of each; size < 0 is all.
func each(path string, size int64, take func(at int64, l line) error) error {
	return transcripts.Read(path, 0, size, func(at int64, text []byte, truncated bool) error {
		if truncated || !bytes.Contains(text, []byte(`"token_count"`)) && !bytes.Contains(text, []byte(`"turn_context"`)) {
			return nil
		}
		var l line
		if json.Unmarshal(text, &l, tally.Loose) != nil {
			return nil
		}
		return take(at, l)
	})
}
