package state

import (
	"fmt"

	"github.com/raymond-action/raymond-action/protocol"
)

// limits compares what a run may use with what it has used.
type limits struct {
	options  *Options
	progress *Progress
	ledger   ledger
	// inherited are the state executions that an earlier run has begun.
	inherited int
}

// begun counts the state executions that the run has begun itself.
func (l limits) begun() int { return l.progress.Iterations - l.inherited }

// overBudget says why nothing may cost any more, or "".
func (l limits) overBudget() string {
	switch c := l.reached(); {
	case c == nil:
		return ""
	case c.Which != budgetOfRun:
		return c.why(l.progress)
	case l.progress.Exhausted:
		return fmt.Sprintf("an agent reached its share of the budget of $%s (spent %s)", c.MaxUSD, l.ledger.spent().ExactString())
	default:
		return fmt.Sprintf("spent %s of a budget of $%s", l.ledger.spent().ExactString(), c.MaxUSD)
	}
}

// reached returns the limit on money that ends the run; nil for none. An agent that ended at its share of what
// was left has reached whatever leaves least. The budget of the run itself may be spent to the end.
func (l limits) reached() *Cap {
	total := l.progress.TotalUSD
	if own := l.options.own(); own != nil && total > own.MaxUSD {
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
	return limit > 0 && l.begun() >= limit
}

// blocked reports whether nothing at all may start: not even a reminder, a retry
// or a further attempt.
func (l limits) blocked() bool {
	return l.progress.Hold != "" || l.reached() != nil
}

// event tells how much is spent of a limit on money.
func (l limits) event(c *Cap) *Limit {
	spent := l.ledger.spent()
	return &Limit{
		Which: c.Which, Value: c.spent(l.progress.TotalUSD).Float(), Max: c.MaxUSD.Float(),
		Estimated: spent.Estimated, Unknown: spent.Unknown, Unpriced: spent.Unpriced,
	}
}

// checkMove returns the limit that keeps an agent from making a move, and why the agent
// fails; nil when it may make the move. alive is the number of agents that have not
// ended, and depth the number of callers that the agent has to return to.
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
