package codex

import (
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// addCost adds the tokens of an invocation to its answer. The CLI reports a running total of the
// thread, so the total that the rollout had before the turn is subtracted.
func (b *Backend) addCost(a *runner.Answer, s *stream) {
	path, _, _ := storeOf(b.Env).Path(s.thread)
	after, used, _ := readUsage(path, s.turn.start)
	a.Model = after.Model
	if s.total == nil {
		// The turn was stopped or failed: the cost of the response in progress is unknown.
		a.Cost.Unreported, a.Cost.Silent = used, len(used) == 0 && !s.hasOutput && (!s.wasAsked || s.isFree())
		return
	}
	// The rollout can't be trusted, since an agent may be able to write it.
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
// API sent no response.
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

// addMetered adds the tokens that the key proxy has counted.
func addMetered(a *runner.Answer, g *keyproxy.Account) {
	a.Cost.Metered = g.Metered()
	counted := g.Used()
	if len(counted) > 0 { // the proxy counts the rollout's tokens and the requests of tools
		a.Cost.Silent, a.Cost.Unreported = false, keyproxy.Beyond(counted, a.Cost.Usage, false)
	}
}

// addRefusals adds the tool uses that the CLI has refused.
func (b *Backend) addRefusals(a *runner.Answer, s *stream) {
	path, _, _ := storeOf(b.Env).Path(s.thread)
	for _, r := range append(s.refused, readRefusals(path, s.turn.start)...) {
		rule := "Bash" // the CLI can't allow single commands
		if strings.Contains(r.Reason, "read-only sandbox") {
			rule = "Edit"
		}
		a.Refusals = append(a.Refusals, s.Refusal(s.Display.ToolUse(r.Tool, r.Input), r.Reason, rule))
	}
}
