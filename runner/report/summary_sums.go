package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	mostSummed = 500 // states that are told apart
	mostSums   = 15  // rows
)

// sum is what came of all executions of a state.
type sum struct {
	state      string
	runs       int
	failed     int
	durationMS int64
	cost       state.Spent
}

// sum returns what is kept of a state; of one too many, what nobody sees.
func (t *tale) sum(name string) *sum {
	x, ok := t.byState[name]
	if !ok {
		x = &sum{state: name}
		if len(t.summed) < mostSummed {
			t.byState[name] = x
			t.summed = append(t.summed, x)
		}
	}
	return x
}

// add counts an execution that ended.
func (x *sum) add(b *state.StateFinished) {
	x.durationMS += b.DurationMS
	x.cost = x.cost.Plus(b.Spent())
	if !b.OK {
		x.failed++
	}
}

// sums has a row for each state, those that cost most first.
func (t *tale) sums(b *strings.Builder) {
	all := make([]*sum, 0, len(t.summed))
	for _, x := range t.summed {
		with := *x
		with.cost = with.cost.Plus(t.owing(x.state))
		all = append(all, &with)
	}
	slices.SortStableFunc(all, func(x, y *sum) int {
		return cmp.Or(cmp.Compare(y.cost.USD, x.cost.USD), cmp.Compare(y.durationMS, x.durationMS))
	})
	b.WriteString("| State | Runs | Failed | Duration | Cost |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, x := range all[:min(len(all), mostSums)] {
		failed := ""
		if x.failed > 0 {
			failed = fmt.Sprint(x.failed)
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s |\n", code(x.state, widestCell), x.runs, failed, millis(x.durationMS), x.cost)
	}
	if more := len(all) - mostSums; more > 0 {
		fmt.Fprintf(b, "| … %s … | | | | |\n", count(more, "more state"))
	}
	b.WriteString("\n")
}
