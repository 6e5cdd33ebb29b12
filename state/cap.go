package state

import "fmt"

// Which limits on many runs there are, as Cap and Limit name them.
const (
	BudgetPerKey = "budget-per-key"
	BudgetPerDay = "budget-per-day"
)

// Cap is a limit on what many runs cost together in 24 hours, as one part of one of them is
// held to it. It holds for that part alone: whoever resumes the run sums up anew.
type Cap struct {
	Which     string `json:"which" is:"cap"` // BudgetPerKey or BudgetPerDay
	MaxUSD    USD    `json:"max_usd"`        // the limit
	BeforeUSD USD    `json:"before_usd"`     // what was spent in the 24 hours before the part began
	FromUSD   USD    `json:"from_usd"`       // what the run itself had cost when the part began
	AllowUSD  USD    `json:"allow_usd"`      // what the part may spend: what is left, or its share of that
}

// NewCap returns the cap of a part that begins when its run has cost from, and before was
// spent in the last 24 hours.
func NewCap(which string, limit, before, from USD) Cap {
	return Cap{Which: which, MaxUSD: limit, BeforeUSD: before, FromUSD: from, AllowUSD: max(0, limit-before)}
}

// left returns what the part may still spend when the run has cost total.
func (c *Cap) left(total USD) USD { return max(0, c.AllowUSD-max(0, total-c.FromUSD)) }

// spent returns what was spent in the 24 hours before the part, and by it.
func (c *Cap) spent(total USD) USD { return c.BeforeUSD.Plus(max(0, total-c.FromUSD)) }

// why says how a run has reached the limit.
func (c *Cap) why(p *Progress) string {
	whose := map[string]string{BudgetPerKey: "the runs of this key", BudgetPerDay: "the runs of this workflow file"}[c.Which]
	text := fmt.Sprintf("%s: %s have spent $%s of $%s in 24 hours", c.Which, whose, c.spent(p.TotalUSD), c.MaxUSD)
	if c.spent(p.TotalUSD) < c.MaxUSD {
		text += ", and its agents have reached their share of what was left"
	}
	return text
}

// budgetOfRun is what a Limit names that tells of the budget of the run itself.
const budgetOfRun = "budget"

// own is the budget of the run itself as a limit; nil for none.
func (o *Options) own() *Cap {
	if o.BudgetUSD == 0 {
		return nil
	}
	return &Cap{Which: budgetOfRun, MaxUSD: o.BudgetUSD, AllowUSD: o.BudgetUSD}
}

// HasBudget reports whether anything limits what the run may cost.
func (o *Options) HasBudget() bool { return o.BudgetUSD != 0 || len(o.Caps) > 0 }

// Remaining returns what may still be spent when the run has cost total, by the tightest of its
// limits; MostUSD where nothing limits it.
func (o *Options) Remaining(total USD) USD {
	if c := o.tightest(total); c != nil {
		return c.left(total)
	}
	return MaxUSD
}

// tightest returns the limit that leaves least, the budget of the run only if it leaves less than all others; nil for none.
func (o *Options) tightest(total USD) *Cap {
	least := o.own()
	for i := range o.Caps {
		c := &o.Caps[i]
		if least == nil || c.left(total) < least.left(total) || c.left(total) == least.left(total) && least.Which == budgetOfRun {
			least = c
		}
	}
	return least
}

// ReachedCap returns which limit on many runs ended a run that is over budget, what they had
// spent by then, and the limit; "" where it was the budget of the run itself.
func (r *Run) ReachedCap() (which string, spent, limit USD) {
	l := limits{options: &r.Options, progress: &r.Progress}
	if c := l.reached(); c != nil && c.Which != budgetOfRun && r.Progress.Status == OverBudget {
		return c.Which, c.spent(r.Progress.TotalUSD), c.MaxUSD
	}
	return "", 0, 0
}
