package gemini

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// cost returns the cost of the process. It is based on the CLI's result, which may be missing, and
// on the tokens that the key proxy has counted. model is the model with the most output tokens in
// the result or, if the result is missing, the model that the CLI has reported at the start.
func (s *stream) cost() (cost state.Cost, model string) {
	model = s.answer.model
	if s.answer.result != nil {
		var stats struct {
			Models map[string]struct {
				Counts jsontext.Value `json:",embed"`
			} `json:"models"`
		}
		if json.Unmarshal(s.answer.result.Stats, &stats, jsonstrict.Loose) != nil {
			stats.Models = nil
		}
		most := int64(0)
		for _, name := range slices.Sorted(maps.Keys(stats.Models)) {
			counts := stats.Models[name].Counts
			u := resultLayout.Usage(counts, name)
			u.Output = max(u.Output, keyproxy.CountAt(counts, "total_tokens")-keyproxy.CountAt(counts, "input_tokens"))
			if u.Total() > 0 {
				cost.Kind, cost.Usage = state.InTokens, append(cost.Usage, state.ModelCost{Usage: u})
			}
			if u.Output > most {
				model, most = name, u.Output
			}
		}
	}
	counted := s.proxy.Used()
	cost.Silent = !s.answer.hasOutput && len(counted) == 0 && len(cost.Usage) == 0
	cost.Metered, cost.Unreported = s.proxy.Metered(), keyproxy.Beyond(counted, cost.Usage, false)
	return cost, model
}

// apiLayout describes how the API counts the tokens of a response. The count of prompt tokens
// includes tokens that were read from the cache, but not the results of tools that run at the API.
// The count of candidate tokens does not include thoughts.
var apiLayout = keyproxy.Layout{
	Input: []string{"promptTokenCount", "toolUsePromptTokenCount"}, Output: []string{"candidatesTokenCount", "thoughtsTokenCount"},
	CacheRead: "cachedContentTokenCount", InputIncludesCache: true, Free: []string{"totalTokenCount"},
}

// piece is a response, or an event of a streamed response, reduced to the fields needed to count
// tokens.
type piece struct {
	Usage jsontext.Value `json:"usageMetadata"`
	// Candidates contains the messages of the model. An error response does not contain this field.
	Candidates jsontext.Value `json:"candidates"`
	Error      jsontext.Value `json:"error"`
}

// counter counts the tokens of one response while the key proxy forwards it. It implements
// keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event reads the data of a server-sent event in a streamed response.
func (c *counter) Event(data []byte) {
	var p piece
	if json.Unmarshal(data, &p, jsonstrict.Loose) == nil {
		c.update(p)
	}
}

// Whole reads a complete response, which may be a stream in the form of a JSON array.
func (c *counter) Whole(data []byte) {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		c.Event(data)
		return
	}
	var counted []piece // the events of a streamed response
	if json.Unmarshal(data, &counted, jsonstrict.Loose) == nil {
		for _, p := range counted {
			c.update(p)
		}
	}
}

// update replaces the counts with the counts in an event or a response.
func (c *counter) update(p piece) {
	if isFree := p.Error != nil && c.Message() == nil; isFree || p.Usage != nil || p.Candidates != nil {
		c.Update(p.Usage, isFree)
	}
}
