package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// widestCell is how many columns of a name the table shows.
const widestCell = 60

// mostRows is how many rows a table has that is not folded.
const mostRows = 25

// table has a row for each state execution: the first ones and the last ones. Of
// many it has the sums by state, and the rest folded.
func (s *Summary) table(b *strings.Builder, d diet) {
	t := &s.tale
	if t.begun == 0 {
		return
	}
	b.WriteString("### States\n\n")
	isLong := t.begun > mostRows
	if isLong {
		t.sums(b)
		fmt.Fprintf(b, "<details><summary>All %s</summary>\n\n", count(t.begun, "state execution"))
	}
	t.rows(b, d)
	if isLong {
		b.WriteString("</details>\n\n")
	}
	b.WriteString(t.bill.with(t.debts()...).String())
}

func (t *tale) rows(b *strings.Builder, d diet) {
	b.WriteString("| # | Agent | State | Session | Duration | Cost | Attempts | Transition |\n" +
		"| ---: | --- | --- | --- | ---: | ---: | --- | --- |\n")
	for _, x := range t.first {
		t.row(b, x)
	}
	last := t.last[max(0, len(t.last)-d.rows):]
	if between := t.begun - len(t.first) - len(last); between > 0 {
		fmt.Fprintf(b, "| | | … %s … | | | | | |\n", count(between, "more state"))
	}
	for _, x := range last {
		t.row(b, x)
	}
	b.WriteString("\n")
}

// sessionWords are what the table calls a prompt's conversation.
var sessionWords = map[state.SessionMode]string{state.Fresh: "new", state.Resume: "resumed", state.Branch: "branched"}

func (t *tale) row(b *strings.Builder, x *execution) {
	duration, cost := "", ""
	switch {
	case x.ended != nil:
		duration = millis(x.ended.DurationMS)
		if x.kind != "script" || x.ended.CostUSD > 0 {
			cost = x.ended.Spent().String()
		}
	case x.isPaused:
		duration = span(x.worked)
	}
	if x.ended == nil && x.owes != (state.Spent{}) {
		cost = x.owes.String()
	}
	session := sessionWords[x.session]
	if session == "" {
		session = code(x.kind, widestCell)
	}
	fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %s | %s |\n", x.n, code(x.agent, widestCell), code(x.state, widestCell),
		session, duration, cost, x.tries(), x.outcome())
}

// tries words the attempts of an execution and what they took.
func (x *execution) tries() string {
	parts := []string{fmt.Sprint(max(1, x.attempts))}
	if x.retries > 0 {
		parts = append(parts, count(x.retries, "retry"))
	}
	if x.reminders > 0 {
		parts = append(parts, count(x.reminders, "reminder"))
	}
	return strings.Join(parts, ", ")
}

// outcome says how an execution ended and where it led.
func (x *execution) outcome() string {
	text := ""
	switch {
	case x.isPaused:
		return "to go on"
	case x.ended == nil:
		return "running since " + clockTime(x.began)
	case x.isExhausted:
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

// sections has a part for each agent, which a reader may unfold: those that need
// attention first.
func (s *Summary) sections(b *strings.Builder, d diet) {
	t := &s.tale
	if len(t.actors) == 0 {
		return
	}
	b.WriteString("### Agents\n\n")
	agents := slices.Clone(t.actors)
	slices.SortStableFunc(agents, func(a, b *actor) int { return a.rank() - b.rank() })
	shown := agents[:min(len(agents), d.agents)]
	isExplained := t.isExplained()
	for _, a := range shown {
		isResult := a.standing == hasResult && t.ending != nil && t.ending.Result != nil && a.result == t.result
		a.section(b, d, isResult || a.standing == hasFailed && isExplained)
	}
	if n := len(agents) + t.others - len(shown); n > 0 {
		fmt.Fprintf(b, "%s not shown here.\n\n", count(n, "agent"))
	}
}

// rank is low for the agents that are shown first.
func (a *actor) rank() int {
	switch a.standing {
	case hasFailed:
		return 0
	case atWork:
		return 1
	}
	return 2
}
