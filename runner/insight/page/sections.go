package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/state"
)

// mostTroubles is how many troubles of a kind are listed at the top.
const mostTroubles = 12

// troubles is what went wrong, for somebody who has not read anything yet.
type troubles struct {
	Failed []trouble
	More   int // failed executions that are not listed
	Others []trouble
	Rest   int // of the others
}

// trouble is one thing that went wrong, in one execution or in many, with what is known
// about it.
type trouble struct {
	State       string
	Agent       string // "" when it happened to many
	Class, What string
	Detail      string // the end of an output
	Where       []int  // the executions; none for the run
	Elsewhere   int    // executions that are not listed
}

func newTroubles(r *insight.Report) troubles {
	var t troubles
	for i := range r.Executions {
		e := &r.Executions[i]
		one := trouble{Where: []int{e.N}, State: shown(e.State), Agent: shown(e.Agent)}
		if e.Status == "failed" || e.Status == "interrupted" {
			one.Class, one.What, one.Detail = e.Status, firstOf(shown(e.Error), e.Status), lastOutput(e)
			t.Failed = append(t.Failed, one)
			continue
		}
		if what := roughEdges(e); what != "" {
			one.Class, one.What = "rough", what
			t.Others = append(t.Others, one)
		}
	}
	for _, l := range r.Limits {
		t.Others = append(t.Others, trouble{Class: "limit", What: limitText(l)})
	}
	t.Failed, t.Others = together(t.Failed), together(t.Others)
	slices.SortStableFunc(t.Failed, func(a, b trouble) int { return cmp.Compare(a.Class, b.Class) })
	t.Failed, t.More = atMost(t.Failed, mostTroubles)
	t.Others, t.Rest = atMost(t.Others, mostTroubles)
	return t
}

// together makes one of the troubles that are told in the same words. The detail is that
// of the last one.
func together(list []trouble) []trouble {
	type key struct{ class, state, what string }
	at := map[key]int{}
	var out []trouble
	for _, one := range list {
		k := key{one.Class, one.State, one.What}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, one)
			continue
		}
		all := &out[i]
		if all.Agent != one.Agent {
			all.Agent = ""
		}
		all.Detail = one.Detail
		if len(all.Where) < mostTroubles {
			all.Where = append(all.Where, one.Where...)
		} else {
			all.Elsewhere++
		}
	}
	return out
}

// limitText says which limit was reached, and how nearly.
func limitText(l insight.Limit) string {
	switch {
	case l.Which == "budget":
		return fmt.Sprintf("$%.2f of the budget of $%.2f were spent", l.Value, l.Max)
	case l.Max > 0:
		return fmt.Sprintf("limit %s: %g of %g", shown(l.Which), l.Value, l.Max)
	}
	return "limit " + shown(l.Which)
}

// atMost returns the first of a list, and how many are left.
func atMost(list []trouble, most int) (first []trouble, left int) {
	first = list[:min(len(list), most)]
	return first, len(list) - len(first)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// roughEdges says what did not go well in an execution that did.
func roughEdges(e *insight.Exec) string {
	var out []string
	say := func(n int, thing string) {
		if n > 0 {
			out = append(out, state.Count(n, thing))
		}
	}
	say(max(0, len(e.Attempts)-1), "further attempt")
	say(len(e.Retries), "retry")
	say(len(e.Reminders), "reminder")
	say(len(e.Refusals), "refused use")
	return strings.Join(out, ", ")
}

// lastOutput returns the end of what the last command of a failed execution printed.
func lastOutput(e *insight.Exec) string {
	out := firstOf(e.Stderr, e.Stdout)
	if n := len(e.Attempts); out == "" && n > 0 {
		for _, c := range e.Attempts[n-1].Results {
			if c.RC != 0 {
				out = c.Tail
			}
		}
	}
	return lastLines(shown(out), 12)
}

// lastLines returns the last n lines of a text.
func lastLines(s string, n int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(all) > n {
		all = append([]string{"…"}, all[len(all)-n:]...)
	}
	return strings.Join(all, "\n")
}

// costs has the tables of sums.
type costs struct{ Tables []sums }

// sums is one table: what has the largest cost first.
type sums struct {
	Title string
	Rows  []sum
	More  []sum // folded
}

// sum is a row, and which part of the largest cost it has, in tenths.
type sum struct {
	insight.Sum
	Part int
	Time time.Duration
}

// mostSums is how many rows of a table are not folded.
const mostSums = 10

func newCosts(r *insight.Report) costs {
	var c costs
	add := func(title string, list []insight.Sum) {
		if len(list) == 0 {
			return
		}
		t := sums{Title: title}
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b insight.Sum) int {
			return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS))
		})
		for i, s := range list {
			s.Name = shown(s.Name)
			row := sum{s, percent(s.Spent.USD, list[0].Spent.USD), time.Duration(s.DurationMS) * time.Millisecond}
			if i < mostSums {
				t.Rows = append(t.Rows, row)
			} else {
				t.More = append(t.More, row)
			}
		}
		c.Tables = append(c.Tables, t)
	}
	add("state", r.Costs.ByState)
	add("agent", r.Costs.ByAgent)
	add("model", r.Costs.ByModel)
	return c
}

// waits has what agents waited for, but for the agents that they forked and for retries,
// which are many and tell little.
type waits struct {
	Rows   []wait
	Others int
}

// wait is a row of the table.
type wait struct {
	insight.Wait
	Lasted time.Duration // so far, when it has not ended
	Words  string
}

func newWaits(r *insight.Report) waits {
	var out waits
	for _, w := range r.Waits {
		if w.For != "answer" && w.For != "time" && w.For != "job" {
			out.Others++
			continue
		}
		to := w.To
		if to.IsZero() {
			to = later(r.Finished, w.From)
		}
		out.Rows = append(out.Rows, wait{w, to.Sub(w.From), waitedFor(w)})
	}
	return out
}

// waitedFor says what a wait was for.
func waitedFor(w insight.Wait) string {
	switch w.For {
	case "answer":
		return "for an answer"
	case "agents":
		return "for other agents"
	case "time":
		return "for a time"
	case "retry":
		return "before a retry"
	case "job":
		return "for job " + shown(w.Job)
	}
	return "for " + shown(w.For)
}

// path is the head of the list of executions.
type path struct {
	All, Failed, Prompts, Scripts int
	Agents                        []string
}

func newPath(r *insight.Report) path {
	p := path{All: len(r.Executions)}
	seen := map[string]bool{}
	for _, e := range r.Executions {
		if e.Status == "failed" || e.Status == "interrupted" {
			p.Failed++
		}
		if e.Kind == "script" {
			p.Scripts++
		} else {
			p.Prompts++
		}
		if !seen[e.Agent] {
			seen[e.Agent] = true
			p.Agents = append(p.Agents, shown(e.Agent))
		}
	}
	return p
}

// agents is the list of agents, with their variables and results.
type agents struct{ Rows []insight.Agent }

func newAgents(r *insight.Report) agents {
	out := agents{Rows: inOrder(r)}
	for i, a := range out.Rows {
		vars := map[string]string{}
		for name, value := range a.Vars {
			vars[shown(name)] = shown(value)
		}
		a.ID, a.Parent, a.Status, a.Vars, a.Result, a.Error = shown(a.ID), shown(a.Parent), shown(a.Status), vars, shown(a.Result), shown(a.Error)
		out.Rows[i] = a
	}
	return out
}
