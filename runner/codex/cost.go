package codex

import (
	"strings"

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
		// The turn was stopped or has failed, so the cost of its last response is unknown.
		a.Cost.Unreported, a.Cost.Silent = used, len(used) == 0 && !s.hasOutput && (!s.wasAsked || s.isFree())
		return
	}
	// An agent may be able to write the rollout, so the higher count is used.
	if reported := s.total.Minus(s.turn.before.Total); totalTokens(used) < reported.Total() {
		reported.Model = after.Model
		used = []state.Usage{reported}
	}
	a.Cost.Kind = state.InTokens
	for _, u := range used {
		a.Cost.Usage = append(a.Cost.Usage, state.ModelCost{Usage: u})
	}
}

// isFree reports whether an invocation without output of the model has cost nothing, because the
// API did not send a response.
func (s *stream) isFree() bool {
	return s.EarlyFailure != nil || s.error != "" && !strings.Contains(s.error, "stream disconnected")
}

// totalTokens adds up the tokens of all models.
func totalTokens(list []state.Usage) (all int64) {
	for _, u := range list {
		all += u.Total()
	}
	return all
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
