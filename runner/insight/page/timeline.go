package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// maxHighRows is the maximum number of agents for which the rows are high enough to show the names
// of states in the bars.
const maxHighRows = 24

// timeline is the data for the template of the timeline.
type timeline struct {
	Rows    []row
	Ticks   []tick
	Pauses  []band // drawn shorter than their duration
	Starts  []band // where a later process resumed the run
	Money   spending
	Failed  int // number of rows with a failed execution
	IsDense bool
}

// band is a range on the timeline. Its offset and width are in hundredths of a percent of the
// timeline.
type band struct {
	Left, Width int
	Title       string
}

// row contains the bars and the waits of one agent.
type row struct {
	Agent string
	Title string
	Depth int
	Class string
	Waits []band
	Bars  []bar

	HasFailed bool
}

// bar represents a state execution.
type bar struct {
	N int
	band
	Class string
	Label string
	Marks []mark
}

// mark is an event within an execution. Left is its offset from the start of the bar, relative to
// the width of the bar.
type mark struct {
	Left  int
	Class string
}

// newTimeline computes the offsets and widths of everything on the timeline.
func newTimeline(r *insight.Report) timeline {
	bars := barTimes(r)
	s := newScale(bars)
	t := timeline{Ticks: s.ticks(), Money: newSpending(r, s)}
	for _, x := range s.intervals {
		if x.isCut {
			t.Pauses = append(t.Pauses, band{int(x.left * fullWidth), max(1, int(x.width*fullWidth)), "nothing ran for " + report.FormatDuration(x.to.Sub(x.from))})
		}
	}
	index := map[string]int{}
	for _, a := range inOrder(r) {
		depth := 0
		if up, ok := index[a.Parent]; ok && a.Parent != "" {
			depth = min(6, t.Rows[up].Depth+1)
		}
		index[a.ID] = len(t.Rows)
		title := a.ID
		for _, name := range sortedKeys(a.Vars) {
			title += fmt.Sprintf(", %s=%s", shown(name), shortText(a.Vars[name]))
		}
		title += ", " + a.Spent.Spent.String()
		t.Rows = append(t.Rows, row{Agent: a.ID, Title: title, Depth: depth, Class: classOf(a.Status)})
	}
	for _, w := range r.Waits {
		if i, ok := index[w.Agent]; ok && len(s.intervals) > 0 {
			left, lasted := s.at(w.Since), lengthOf(r, w)
			t.Rows[i].Waits = append(t.Rows[i].Waits, band{left, max(1, s.at(w.Since.Add(lasted))-left), "waited " + report.FormatDuration(lasted) + " " + waitedFor(w)})
		}
	}
	for _, e := range r.Executions {
		i := index[e.Agent]
		t.Rows[i].Bars = append(t.Rows[i].Bars, newBar(e, bars[e.N], s))
		if hasFailed(e) && !t.Rows[i].HasFailed {
			t.Rows[i].HasFailed = true
			t.Failed++
		}
	}
	for _, p := range r.Segments[min(1, len(r.Segments)):] {
		t.Starts = append(t.Starts, band{s.at(p.Started), 0, "resumed " + moment(p.Started)})
	}
	t.IsDense = len(t.Rows) > maxHighRows
	return t
}

// inOrder returns the agents so that each one follows the agent that forked it. Agents that are
// only named in executions come last.
func inOrder(r *insight.Report) []report.Agent {
	known, children := map[string]bool{}, map[string][]report.Agent{}
	for _, a := range r.Agents {
		known[a.ID] = true
	}
	for _, a := range r.Agents {
		above := a.Parent
		if !known[above] || above == a.ID {
			above = ""
		}
		children[above] = append(children[above], a)
	}
	out := make([]report.Agent, 0, len(r.Agents))
	var add func(parent string)
	placed := map[string]bool{} // the parents of agents may form a cycle if the event log was manipulated
	add = func(parent string) {
		for _, a := range children[parent] {
			if !placed[a.ID] {
				placed[a.ID] = true
				out = append(out, a)
				add(a.ID)
			}
		}
	}
	add("")
	for _, e := range r.Executions {
		if !placed[e.Agent] {
			placed[e.Agent] = true
			out = append(out, report.Agent{ID: e.Agent})
		}
	}
	return out
}

// newBar returns the bar for an execution, with marks for its attempts except the last one, and for
// its retries, reminders and interruptions.
func newBar(e report.Exec, at barTime, s scale) bar {
	left := s.at(at.from)
	b := bar{N: e.N, Label: e.State, Class: classOf(e.Kind) + " " + classOf(e.Status)}
	b.Left, b.Width = left, max(1, s.at(at.to)-left)
	b.Title = fmt.Sprintf("#%d %s, %s, %s, %s", e.N, e.State, e.Status, report.FormatDuration(duration(e)), e.Spent.Spent.String())
	if e.Error != "" {
		b.Title += ": " + shortText(e.Error)
	}
	within := func(t time.Time) int { return min(fullWidth, max(0, (s.at(t)-left)*fullWidth/b.Width)) / 50 * 50 }
	for _, a := range e.Attempts[:max(0, len(e.Attempts)-1)] {
		b.Marks = append(b.Marks, mark{within(a.Ended), "attempt"})
	}
	for _, m := range e.Retries {
		b.Marks = append(b.Marks, mark{within(m.Time), "retry"})
	}
	for _, m := range e.Reminders {
		b.Marks = append(b.Marks, mark{within(m.Time), "reminder"})
	}
	for _, c := range e.Interruptions {
		b.Marks = append(b.Marks, mark{within(c.Time), "attempt"})
	}
	return b
}

// duration returns how long an execution took. It returns zero if the execution has not ended.
func duration(e report.Exec) time.Duration {
	if e.Ended.IsZero() {
		return 0
	}
	return e.Ended.Sub(e.Started)
}

// spending is a graph of the run's cost over time.
type spending struct {
	Line, Area string // data of SVG paths, in a box of 10000 by 100
	Top        string // the amount at the upper edge
	Budget     string // the budget; only set if it is at the upper edge
}

// newSpending returns a graph with the cost of the run at the end of each execution. The graph is
// empty if nothing was spent.
func newSpending(r *insight.Report, s scale) spending {
	ended := slices.DeleteFunc(slices.Clone(r.Executions), func(e report.Exec) bool { return e.Ended.IsZero() })
	slices.SortStableFunc(ended, func(a, b report.Exec) int { return a.Ended.Compare(b.Ended) })
	most := r.Spent.USD
	for _, e := range ended {
		most = max(most, e.Total)
	}
	if most == 0 || len(ended) == 0 {
		return spending{}
	}
	m := spending{Top: state.Spent{USD: most, Estimated: r.Spent.Estimated}.String()}
	if r.BudgetUSD > 0 && r.BudgetUSD <= 2*most {
		most, m.Budget = max(most, r.BudgetUSD), "budget "+r.BudgetUSD.Dollars()
	}
	var line strings.Builder
	y, last := 100.0, -1
	line.WriteString("M0 100")
	for _, e := range ended {
		x := s.at(e.Ended)
		if high := 100 - 94*float64(e.Total)/float64(most); high != y && (x-last >= 5 || y-high > 1) {
			fmt.Fprintf(&line, "H%dV%.1f", x, high)
			y, last = high, x
		}
	}
	fmt.Fprintf(&line, "H%d", fullWidth)
	m.Line = line.String()
	m.Area = m.Line + "V100Z"
	return m
}

// places returns CSS classes for all offsets and widths on the timeline. They are needed because
// the content security policy forbids style attributes.
func (t timeline) places() string {
	var rules strings.Builder
	lefts, widths := map[int]bool{}, map[int]bool{}
	for _, tick := range t.Ticks {
		lefts[tick.Left] = true
	}
	bands := slices.Concat(t.Pauses, t.Starts)
	for _, row := range t.Rows {
		bands = append(bands, row.Waits...)
		for _, b := range row.Bars {
			bands = append(bands, b.band)
			for _, m := range b.Marks {
				lefts[m.Left] = true
			}
		}
	}
	for _, b := range bands {
		lefts[b.Left], widths[b.Width] = true, true
	}
	for _, n := range sortedKeys(lefts) {
		fmt.Fprintf(&rules, ".l%d{left:%d.%02d%%}", n, n/100, n%100)
	}
	for _, n := range sortedKeys(widths) {
		fmt.Fprintf(&rules, ".w%d{width:%d.%02d%%}", n, n/100, n%100)
	}
	return rules.String()
}
