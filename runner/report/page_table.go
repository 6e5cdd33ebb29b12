package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	widestCell = 60 // columns of a name in a table
	maxRows    = 25 // of a table that is not folded
	maxSums    = 15 // rows of the table of sums
)

// table returns a row for each state execution: the first ones and the last ones.
// Of many it returns the sums by state, and the rows folded.
func (d *document) table() string {
	xs := &d.history.executions
	if xs.begun == 0 {
		return ""
	}
	unfinished := d.history.agents.unfinished()
	costs := d.history.spent.byModel.with(unfinished...).String()
	if xs.begun <= maxRows {
		return "### States\n\n" + xs.rows(unfinished) + costs
	}
	return "### States\n\n" + xs.sumsByState(unfinished) +
		fmt.Sprintf("<details><summary>All %s</summary>\n\n%s</details>\n\n", count(xs.begun, "state execution"), xs.rows(unfinished)) + costs
}

func (xs *executions) rows(notEnded []*unfinished) string {
	costs := map[*execution]state.Spent{}
	for _, u := range notEnded {
		costs[u.row] = u.Spent()
	}
	var b strings.Builder
	b.WriteString("| # | Agent | State | Session | Duration | Cost | Attempts | Transition |\n" +
		"| ---: | --- | --- | --- | ---: | ---: | --- | --- |\n")
	for _, x := range xs.first {
		b.WriteString(x.row(costs[x]))
	}
	if xs.last.earlier > 0 {
		fmt.Fprintf(&b, "| | | … %s … | | | | | |\n", count(xs.last.earlier, "more state"))
	}
	for _, x := range xs.last.all {
		b.WriteString(x.row(costs[x]))
	}
	return b.String() + "\n"
}

// sessionWords are what the table calls a prompt's conversation.
var sessionWords = map[state.SessionMode]string{state.Fresh: "new", state.Resume: "resumed", state.Branch: "branched"}

// row returns the row of an execution, which has cost notEnded if it did not end with
// its part of the run.
func (x *execution) row(notEnded state.Spent) string {
	duration, cost := "", ""
	switch {
	case x.ended != nil:
		duration = millis(x.ended.DurationMS)
		if x.kind != "script" || x.ended.CostUSD > 0 {
			cost = x.ended.Spent().String()
		}
	case x.work.isPaused:
		duration = span(x.work.worked)
	}
	if x.ended == nil && notEnded != (state.Spent{}) {
		cost = notEnded.String()
	}
	session := cmp.Or(sessionWords[x.session], code(x.kind, widestCell))
	return fmt.Sprintf("| %d | %s | %s | %s | %s | %s | %s | %s |\n", x.n, code(x.agent, widestCell), code(x.state, widestCell),
		session, duration, cost, x.attemptsText(), x.outcome())
}

// attemptsText returns the numbers of attempts, retries and reminders of an execution.
func (x *execution) attemptsText() string {
	parts := []string{fmt.Sprint(max(1, x.attempts))}
	if x.retries > 0 {
		parts = append(parts, count(x.retries, "retry"))
	}
	if x.reminders > 0 {
		parts = append(parts, count(x.reminders, "reminder"))
	}
	return strings.Join(parts, ", ")
}

// outcome says how an execution ended, and which transition followed.
func (x *execution) outcome() string {
	text := ""
	switch {
	case x.work.isPaused:
		return "paused"
	case x.ended == nil:
		return "running since " + clockTime(x.work.began)
	case x.ended.Error == exhausted:
		text = "**not done** "
	case !x.ended.OK:
		text = "**failed** "
	}
	if x.moves > 0 {
		text += codeSpan(x.move)
	}
	if x.moves > 1 {
		text += fmt.Sprintf(" and %d more", x.moves-1)
	}
	return strings.TrimSpace(text)
}

// sumsByState returns a table with a row for each state, those that cost most
// first. It includes the costs of executions that did not end.
func (xs *executions) sumsByState(notEnded []*unfinished) string {
	extra := map[string]state.Spent{}
	for _, u := range notEnded {
		extra[u.State] = extra[u.State].Plus(u.Spent())
	}
	all := make([]stateSum, 0, len(xs.sums))
	for _, x := range xs.sums {
		sum := *x
		sum.cost = sum.cost.Plus(extra[sum.state])
		all = append(all, sum)
	}
	slices.SortStableFunc(all, func(x, y stateSum) int {
		return cmp.Or(cmp.Compare(y.cost.USD, x.cost.USD), cmp.Compare(y.durationMS, x.durationMS))
	})
	var b strings.Builder
	b.WriteString("| State | Runs | Failed | Duration | Cost |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, x := range all[:min(len(all), maxSums)] {
		failed := ""
		if x.failed > 0 {
			failed = fmt.Sprint(x.failed)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", code(x.state, widestCell), x.runs, failed, millis(x.durationMS), x.cost)
	}
	if more := len(all) - maxSums; more > 0 {
		fmt.Fprintf(&b, "| … %s … | | | | |\n", count(more, "more state"))
	}
	return b.String() + "\n"
}
