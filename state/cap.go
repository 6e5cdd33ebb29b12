package state

import "fmt"

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

// reason returns the reason why a run that has reached the limit ended.
func (c *Cap) reason(p *Progress) string {
	whose := map[string]string{BudgetPerKey: "the runs of this key", BudgetPerDay: "the runs of this workflow file"}[c.Which]
	text := fmt.Sprintf("%s: %s have spent $%s of $%s in 24 hours", c.Which, whose, c.spent(p.TotalUSD), c.MaxUSD)
	if c.spent(p.TotalUSD) < c.MaxUSD {
		text += "; the agents of this run have used up their share of the rest"
	}
	return text
}

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
