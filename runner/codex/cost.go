package codex

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/internal/untrusted/jsonstrict"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// addCost adds the tokens that an invocation used to its answer. The CLI reports a running total
// for the thread, so the total at the start of the turn is subtracted.
func (b *Backend) addCost(a *runner.Answer, s *stream) {
	path, _, _ := storeOf(b.Env).Path(s.thread)
	after, used, _ := readUsage(path, s.turn.start)
	a.Model = after.Model
	if s.total == nil {
		// The turn was stopped or has failed, so the cost of its last response is unknown. It has cost nothing
		// if the API did not send a response.
		isFree := !s.wasAsked || s.EarlyFailure != nil || s.error != "" && !strings.Contains(s.error, "stream disconnected")
		a.Cost.Unreported, a.Cost.Silent = used, len(used) == 0 && !s.hasOutput && isFree
		return
	}
	tokens := int64(0)
	for _, u := range used {
		tokens += u.Total()
	}
	// An agent may be able to write the rollout, so the higher count is used.
	if reported := s.total.Minus(s.turn.before.Total); tokens < reported.Total() {
		reported.Model = after.Model
		used = []state.Usage{reported}
	}
	a.Cost.Kind = state.InTokens
	for _, u := range used {
		a.Cost.Usage = append(a.Cost.Usage, state.ModelCost{Usage: u})
	}
}

// addMetered adds the tokens that the key proxy has counted and that the CLI has not reported.
func addMetered(a *runner.Answer, g *keyproxy.Account) {
	a.Cost.Metered = g.Metered()
	counted := g.Used()
	if len(counted) > 0 { // these are tokens of the CLI's own requests and of requests that commands sent
		a.Cost.Silent, a.Cost.Unreported = false, keyproxy.Beyond(counted, a.Cost.Usage, false)
	}
}

// addRefusals adds the tool calls that the CLI has denied to an answer.
func (b *Backend) addRefusals(a *runner.Answer, s *stream) {
	path, _, _ := storeOf(b.Env).Path(s.thread)
	for _, r := range append(s.refused, readRefusals(path, s.turn.start)...) {
		rule := "Bash" // the CLI can't allow single commands, so name the whole tool
		if strings.Contains(r.Reason, "read-only sandbox") {
			rule = "Edit"
		}
		a.Refusals = append(a.Refusals, s.Refusal(s.Display.ToolUse(r.Tool, r.Input), r.Reason, rule))
	}
}

// apiLayout describes how the API counts the tokens of a response. The input includes the tokens
// that were read from the cache or written to it.
var apiLayout = keyproxy.Layout{
	Input: []string{"input_tokens"}, Output: []string{"output_tokens"},
	CacheRead: "input_tokens_details.cached_tokens", CacheWrite: "input_tokens_details.cache_write_tokens", InputIncludesCache: true, Free: []string{"total_tokens"},
}

// response is a response of the API, reduced to the fields needed to count tokens.
type response struct {
	Object string         `json:"object"`
	Usage  jsontext.Value `json:"usage"`
}

// event is a server-sent event in a streamed response.
type event struct {
	Type     string   `json:"type"`
	Response response `json:"response"`
}

// counter counts the tokens of one response while the key proxy forwards it. It implements
// keyproxy.Counter.
type counter struct{ keyproxy.FinalCounter }

// Event reads the data of a server-sent event. Besides the events that contain token counts, it
// handles events for the start and the failure of a response.
func (c *counter) Event(data []byte) {
	var e event
	if json.Unmarshal(data, &e, jsonstrict.Loose) != nil {
		return
	}
	isFree := e.Type == "response.failed" || e.Type == "error" && c.Message() == nil
	if e.Type == "response.created" || e.Response.Usage != nil || isFree {
		c.Update(e.Response.Usage, isFree)
	}
}

// Whole reads a response that is not streamed.
func (c *counter) Whole(data []byte) {
	var r response
	if json.Unmarshal(data, &r, jsonstrict.Loose) == nil && r.Object == "response" {
		c.Update(r.Usage, false)
	}
}
