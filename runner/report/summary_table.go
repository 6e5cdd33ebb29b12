package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const (
	widestCell = 60 // columns of a name in a table
	maxRows    = 25 // maximum number of executions in a table that is not folded
	maxSums    = 15 // rows in the table of totals
)

// table returns a table with a row for each state execution. The table of a long run leaves out
// executions in the middle. If there are more than maxRows executions, the table is folded, and
// another table with the totals by state comes before it.
func (s *Summary) table() string {
	m := s.model
	if m.ExecutionCount == 0 {
		return ""
	}
	costs := costsByModel(m.ByModel())
	if m.ExecutionCount <= maxRows {
		return "### States\n\n" + m.rows() + costs
	}
	return "### States\n\n" + sumsByState(m.ByState()) +
		fmt.Sprintf("<details><summary>All %s</summary>\n\n%s</details>\n\n", count(m.ExecutionCount, "state execution"), m.rows()) + costs
}

// rows returns the table of executions as Markdown.
func (m *Model) rows() string {
	var b strings.Builder
	b.WriteString("| # | Agent | State | Session | Duration | Cost | Attempts | Transition |\n" +
		"| ---: | --- | --- | --- | ---: | ---: | --- | --- |\n")
	for i, x := range m.Executions {
		if dropped := m.ExecutionCount - len(m.Executions); dropped > 0 && i == maxFirst {
			fmt.Fprintf(&b, "| | | … %s … | | | | | |\n", count(dropped, "more state"))
		}
		b.WriteString(x.row())
	}
	return b.String() + "\n"
}

// sessionWords maps session modes to the texts in the table.
var sessionWords = map[string]string{string(state.Fresh): "new", string(state.Resume): "resumed", string(state.Branch): "branched"}

// row returns the table row for an execution.
func (x *Exec) row() string {
	duration, cost := "", ""
	switch {
	case !x.isOpen():
		duration = formatMillis(x.DurationMS)
		if x.Kind != "script" || x.Spent.USD > 0 {
			cost = x.Spent.String()
		}
	case x.costSoFar() != state.Spent{}:
		cost = x.Spent.String()
	}
	if x.work.isPaused {
		duration = FormatDuration(x.work.worked)
	}
	attempts := []string{fmt.Sprint(x.Attempt())}
	if n := len(x.Retries) - x.serviceRetries; n > 0 {
		attempts = append(attempts, count(n, "retry"))
	}
	if n := len(x.Reminders); n > 0 {
		attempts = append(attempts, count(n, "reminder"))
	}
	session := cmp.Or(sessionWords[x.Mode], code(x.Kind, widestCell))
	return fmt.Sprintf("| %d | %s | %s | %s | %s | %s | %s | %s |\n", x.N, code(x.Agent, widestCell), code(x.State, widestCell),
		session, duration, cost, strings.Join(attempts, ", "), x.outcome())
}

// outcome describes how an execution ended, with its first transition and the number of the others.
// For an execution that has not ended, it returns "paused" or the time of the start.
func (x *Exec) outcome() string {
	text := ""
	switch {
	case x.work.isPaused:
		return "paused"
	case x.isOpen():
		return "running since " + utcTime(x.Started)
	case x.isExhausted:
		text = "**not done** "
	case x.Status == Failed:
		text = "**failed** "
	}
	if x.transitionCount > 0 {
		text += code(transitionText(x.firstTransition), widestTransition)
	}
	if x.transitionCount > 1 {
		text += fmt.Sprintf(" and %d more", x.transitionCount-1)
	}
	return strings.TrimSpace(text)
}

// sumsByState returns a table with the totals of the first maxSums states.
func sumsByState(all []Sum) string {
	var b strings.Builder
	b.WriteString("| State | Runs | Failed | Duration | Cost |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, x := range all[:min(len(all), maxSums)] {
		failed := ""
		if x.Failed > 0 {
			failed = fmt.Sprint(x.Failed)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", code(x.Name, widestCell), x.Executions, failed, formatMillis(x.DurationMS), x.Spent)
	}
	if more := len(all) - maxSums; more > 0 {
		fmt.Fprintf(&b, "| … %s … | | | | |\n", count(more, "more state"))
	}
	return b.String() + "\n"
}

// costsByModel returns a line with the cost of each model, most expensive first, or "" if no model
// is known.
func costsByModel(all []Sum) string {
	var parts []string
	rest := ""
	for _, sum := range all {
		if sum.Name == "" {
			rest = ", other " + sum.Spent.Spent.String()
		} else {
			parts = append(parts, codeSpan(sum.Name)+" "+sum.Spent.Spent.String())
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cost by model: " + strings.Join(parts, ", ") + rest + "\n\n"
}
