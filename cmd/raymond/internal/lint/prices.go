package lint

import (
	"cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

// checkPrices warns of states with which a run can't be held to a budget. A run may name a
// model for its own agent, so that nothing is said of that one without a model.
func (l *Run) checkPrices(path string, s *scope.Scope) {
	if s == nil {
		return
	}
	s.Load()
	run := state.Options{Backend: l.Backend}
	for _, b := range agents.Unpriced(s.Workflow, &run, l.Prices) {
		if b.Model == "" && b.Backend == cmp.Or(l.Backend, protocol.DefaultBackend) {
			continue
		}
		p := protocol.Problem{
			File: cmp.Or(b.From, b.State), Pos: cmp.Or(b.Pos, protocol.Pos{Line: 1, Col: 1}), Code: "price", Message: runner.NoPrice(b.Backend, b.Model), Hint: runner.NoPriceHint,
		}
		l.add(l.remark(path, s, protocol.Finding{Severity: protocol.SeverityWarning, Problem: p}))
	}
}
