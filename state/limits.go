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
		spent := c.spent(l.progress.TotalUSD)
		whose := map[string]string{BudgetPerKey: "the runs of this key", BudgetPerDay: "the runs of this workflow file"}[c.Which]
		text := fmt.Sprintf("%s: %s have spent $%s of $%s in 24 hours", c.Which, whose, spent, c.MaxUSD)
		if spent < c.MaxUSD {
			text += "; the agents of this run have used up their share of the rest"
		}
		return text
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

// The names of the limits on the cost of many runs. Cap.Which and Limit.Which contain them.
const (
	BudgetPerKey = "budget-per-key"
	BudgetPerDay = "budget-per-day"
)

// Cap is a limit on the cost of many runs within 24 hours. It also limits the cost of a single
// segment of a run. Each resume computes a new Cap.
type Cap struct {
	Which     string `json:"which" is:"cap"` // BudgetPerKey or BudgetPerDay
	MaxUSD    USD    `json:"max_usd"`        // the limit for all these runs
	BeforeUSD USD    `json:"before_usd"`     // cost of these runs in the 24 hours before the segment began
	FromUSD   USD    `json:"from_usd"`       // cost of this run when the segment began
	AllowUSD  USD    `json:"allow_usd"`      // limit for this segment: the rest of MaxUSD or, in a part of a matrix, a share of that rest
}

// NewCap returns the Cap for a segment that begins now. before is the cost of all runs in the last 24
// hours, and from is the cost of the segment's own run so far.
func NewCap(which string, limit, before, from USD) Cap {
	return Cap{Which: which, MaxUSD: limit, BeforeUSD: before, FromUSD: from, AllowUSD: max(0, limit-before)}
}

// left returns how much the segment may still spend. total is the cost of the run so far.
func (c *Cap) left(total USD) USD { return max(0, c.AllowUSD-max(0, total-c.FromUSD)) }

// spent returns the cost of all runs in the 24 hours before the segment, plus the cost of the segment.
// total is the cost of the run so far.
func (c *Cap) spent(total USD) USD { return c.BeforeUSD.Plus(max(0, total-c.FromUSD)) }

// budgetOfRun is the value of Limit.Which for the budget of a single run.
const budgetOfRun = "budget"

// ownBudget returns the budget of the run itself as a Cap, or nil if the run has no budget.
func (o *Options) ownBudget() *Cap {
	if o.BudgetUSD == 0 {
		return nil
	}
	return &Cap{Which: budgetOfRun, MaxUSD: o.BudgetUSD, AllowUSD: o.BudgetUSD}
}

// HasBudget reports whether any limit applies to the cost of the run.
func (o *Options) HasBudget() bool { return o.BudgetUSD != 0 || len(o.Caps) > 0 }

// Remaining returns how much the run may still spend under its tightest limit, or MaxUSD if it has no
// limit. total is the cost of the run so far.
func (o *Options) Remaining(total USD) USD {
	if c := o.tightest(total); c != nil {
		return c.left(total)
	}
	return MaxUSD
}

// tightest returns the limit under which the run may spend least, or nil if it has no limit. If the budget
// of the run and another limit allow the same amount, it returns the other limit.
func (o *Options) tightest(total USD) *Cap {
	least := o.ownBudget()
	for i := range o.Caps {
		c := &o.Caps[i]
		if least == nil || c.left(total) < least.left(total) || c.left(total) == least.left(total) && least.Which == budgetOfRun {
			least = c
		}
	}
	return least
}

// ReachedCap returns the name of the limit on many runs that ended this run, the cost of those runs, and
// the limit's amount. The name is "" if the run is not over budget, or if it has reached its own budget.
func (r *Run) ReachedCap() (which string, spent, limit USD) {
	l := limits{options: &r.Options, progress: &r.Progress}
	if c := l.reached(); c != nil && c.Which != budgetOfRun && r.Progress.Status == OverBudget {
		return c.Which, c.spent(r.Progress.TotalUSD), c.MaxUSD
	}
	return "", 0, 0
}
