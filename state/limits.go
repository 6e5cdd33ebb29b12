package state

import (
	"fmt"

	"github.com/raymond-action/raymond-action/protocol"
)

// limits compares the usage of a run with the limits of the run.
type limits struct {
	options  *Options
	progress *Progress
	ledger   ledger
	// inherited is the number of state executions that belong to the run from which this run was copied.
	inherited int
}

// ownExecutions returns the number of state executions that this run has started itself.
func (l limits) ownExecutions() int { return l.progress.Iterations - l.inherited }

// overBudget returns the reason why the run must not spend any more, or "" if it may.
func (l limits) overBudget() string {
	switch c := l.reached(); {
	case c == nil:
		return ""
	case c.Which != budgetOfRun:
		return c.reason(l.progress)
	case l.progress.Exhausted:
		return fmt.Sprintf("budget of %s exhausted (%s spent)", c.MaxUSD.Dollars(), l.ledger.spent())
	default:
		return fmt.Sprintf("spent %s of a budget of $%s", l.ledger.spent().ExactString(), c.MaxUSD)
	}
}

// reached returns the limit on cost that ends the run, or nil. If an agent CLI stopped because it had
// spent its share of the remaining budget, the tightest limit counts as reached. The run's own budget is
// reached only when the cost exceeds it. Other limits are reached when nothing is left.
func (l limits) reached() *Cap {
	total := l.progress.TotalUSD
	if own := l.options.ownBudget(); own != nil && total > own.MaxUSD {
		return own
	}
	c := l.options.tightest(total)
	if c != nil && (l.progress.Exhausted || c.left(total) == 0 && c.Which != budgetOfRun) {
		return c
	}
	return nil
}

// overIterations reports whether no further state execution may begin.
func (l limits) overIterations() bool {
	limit := l.options.MaxIterations
	return limit > 0 && l.ownExecutions() >= limit
}

// blocked reports whether nothing may start: no execution, reminder, retry or further attempt. Only
// done_when commands may still run.
func (l limits) blocked() bool {
	return l.progress.Hold != "" || l.reached() != nil
}

// event returns the event that shows how much of a limit on cost has been spent.
func (l limits) event(c *Cap) *Limit {
	spent := l.ledger.spent()
	return &Limit{
		Which: c.Which, Value: c.spent(l.progress.TotalUSD).Float(), Max: c.MaxUSD.Float(),
		Estimated: spent.Estimated, Unknown: spent.Unknown, Unpriced: spent.Unpriced,
	}
}

// InvocationBudget returns the budget for one invocation: the rest of the run's budget divided by the
// number of running agents, but at least a cent. It returns 0 if the run has no budget.
func (s *Step) InvocationBudget() USD {
	if !s.Options().HasBudget() {
		return 0
	}
	running := count(s.Agents(), func(a *Agent) bool { return a.Status == Busy })
	return max(Dollar/100, s.Options().Remaining(s.delta.Progress.TotalUSD)/USD(max(1, running)))
}

// checkMove returns the limit that forbids a move, and the reason for the agent's failure. It returns nil
// if the move is allowed. alive is the number of agents that have not ended. depth is the height of the
// agent's return stack.
func (o *Options) checkMove(move protocol.Decision, alive, depth int) (*Limit, string) {
	if want := alive + len(move.Spawns); len(move.Spawns) > 0 && want > o.MaxAgents {
		return &Limit{Which: "agents", Value: float64(want), Max: float64(o.MaxAgents)},
			fmt.Sprintf("max-agents: the run would have %d agents at once, more than %d", want, o.MaxAgents)
	}
	pushes := move.Then.Verb == protocol.Call || move.Then.Verb == protocol.Function
	if want := depth + 1; pushes && want > o.MaxDepth {
		return &Limit{Which: "depth", Value: float64(want), Max: float64(o.MaxDepth)},
			fmt.Sprintf("max-depth: the return stack would be %d deep, more than %d", want, o.MaxDepth)
	}
	return nil, ""
}
