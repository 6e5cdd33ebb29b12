package codex

import (
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// book adds to an answer what its process has used. The CLI's figure is a running sum of
// the thread: what counts is the difference to the one of the rollout when it was taken up.
func (b *Backend) book(a *runner.Answer, s *stream) {
	path, _, _ := keptOf(b.Env).Path(s.thread)
	after, used, _ := read(path, s.turn.start)
	a.Model = after.Model
	if s.sum == nil {
		// It was ended, or failed: what the answer under way would have cost is not told.
		a.Cost.Unreported, a.Cost.Silent = used, len(used) == 0 && !s.spoke && (!s.began || s.isFree())
		return
	}
	// An agent may be able to write its rollout.
	if told := s.sum.Minus(s.turn.before.Total); sum(used) < told.Total() {
		told.Model = after.Model
		used = []state.Usage{told}
	}
	a.Cost.Kind = state.InTokens
	for _, u := range used {
		a.Cost.Usage = append(a.Cost.Usage, state.ModelCost{Usage: u})
	}
}

// isFree reports whether an invocation in which nothing came from the model has cost nothing,
// since the API gave no answer.
func (s *stream) isFree() bool {
	return s.EarlyFailure != nil || s.error != "" && !strings.Contains(s.error, "stream disconnected")
}

func sum(list []state.Usage) (all int64) {
	for _, u := range list {
		all += u.Total()
	}
	return all
}

// metered adds what the key proxy has counted.
func metered(a *runner.Answer, g *keyproxy.Account) {
	a.Cost.Metered = g.Metered()
	counted := g.Used()
	if len(counted) > 0 { // the proxy counts all that the rollout does, and the requests of tools
		a.Cost.Silent, a.Cost.Unreported = false, keyproxy.Beyond(counted, a.Cost.Usage, false)
	}
}

// refusals adds the uses of tools that the CLI has refused.
func (b *Backend) refusals(a *runner.Answer, s *stream) {
	path, _, _ := keptOf(b.Env).Path(s.thread)
	for _, r := range append(s.refused, readRefused(path, s.turn.start)...) {
		rule := "Bash" // its sandbox knows no single commands
		if strings.Contains(r.Reason, "read-only sandbox") {
			rule = "Edit"
		}
		a.Refusals = append(a.Refusals, s.Refusal(s.Display.ToolUse(r.Tool, r.Input), r.Reason, rule))
	}
}
