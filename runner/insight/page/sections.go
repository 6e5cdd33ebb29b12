package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// maxTroubles is the maximum number of entries in each list of troubles.
const maxTroubles = 12

// troubles is the overview of failures and other problems in the run.
type troubles struct {
	Failed []trouble
	More   int // number of entries left out of Failed
	Others []trouble
	Rest   int // number of entries left out of Others
}

// trouble is a failure or another problem, in one execution or in several executions.
type trouble struct {
	State       string
	Agent       string // empty if it happened to several agents
	Class, What string
	Detail      string // end of an output
	Where       []int  // numbers of the executions; empty if it concerns the whole run
	Elsewhere   int    // number of further executions, which are not in Where
}

// newTroubles returns the overview of failures and other problems in the run.
func newTroubles(r *insight.Report) troubles {
	var t troubles
	for i := range r.Executions {
		e := &r.Executions[i]
		one := trouble{Where: []int{e.N}, State: e.State, Agent: e.Agent}
		for _, c := range e.Interruptions {
			cut := one
			cut.Class = "interrupted"
			cut.What = fmt.Sprintf("interrupted (%s), repeated, %s", c.Reason, state.Spent{USD: c.CostUSD, Estimated: c.Estimated})
			t.Others = append(t.Others, cut)
		}
		if e.Status == report.Failed || e.Status == report.Interrupted {
			one.Class, one.What, one.Detail = e.Status, cmp.Or(e.Error, e.Status), lastOutput(e)
			t.Failed = append(t.Failed, one)
			continue
		}
		var minor []string // retries and similar events in an execution that succeeded in the end
		for _, c := range []struct {
			n     int
			thing string
		}{{len(e.Attempts) - 1, "further attempt"}, {len(e.Retries), "retry"}, {len(e.Reminders), "reminder"}, {len(e.Refusals), "refused use"}} {
			if c.n > 0 {
				minor = append(minor, state.Count(c.n, c.thing))
			}
		}
		if len(minor) > 0 {
			one.Class, one.What = "rough", strings.Join(minor, ", ")
			t.Others = append(t.Others, one)
		}
	}
	for _, l := range r.Limits {
		t.Others = append(t.Others, trouble{Class: "limit", What: l.Text()})
	}
	t.Failed, t.Others = merge(t.Failed), merge(t.Others)
	slices.SortStableFunc(t.Failed, func(a, b trouble) int { return cmp.Compare(a.Class, b.Class) })
	t.Failed, t.More = firstN(t.Failed, maxTroubles)
	t.Others, t.Rest = firstN(t.Others, maxTroubles)
	return t
}

// merge combines troubles with the same class, state and description. The combined trouble has the
// detail of the last one.
func merge(list []trouble) []trouble {
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
		if len(all.Where) < maxTroubles {
			all.Where = append(all.Where, one.Where...)
		} else {
			all.Elsewhere++
		}
	}
	return out
}

// firstN returns the first elements of a list, and the number of the others.
func firstN(list []trouble, most int) (first []trouble, left int) {
	first = list[:min(len(list), most)]
	return first, len(list) - len(first)
}

// lastOutput returns the last lines of a failed execution's output or, if that is empty, of the
// output of the first command that failed in its last attempt.
func lastOutput(e *report.Exec) string {
	out := ""
	if all := e.Outputs(); len(all) > 0 {
		out = all[len(all)-1].Text
	} else if failed := e.FailedCommand(); failed != nil {
		out = failed.Tail
	}
	const most = 12
	all := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(all) > most {
		all = append([]string{"…"}, all[len(all)-most:]...)
	}
	return strings.Join(all, "\n")
}

// sums is a table of costs, with the highest cost first.
type sums struct {
	Title string
	Rows  []sum
	More  []sum // folded rows
}

// sum is a row of a table of costs. Part is its cost as a percentage of the highest cost in the
// table.
type sum struct {
	report.Sum
	Part int
	Time time.Duration
}

// maxSums is the maximum number of rows of a table that are not folded.
const maxSums = 10

// newCosts returns the tables of costs by state, by agent and by model.
func newCosts(r *insight.Report) []sums {
	var tables []sums
	add := func(title string, list []report.Sum) {
		if len(list) == 0 {
			return
		}
		t := sums{Title: title}
		for i, s := range list {
			row := sum{s, percent(s.Spent.USD, list[0].Spent.USD), time.Duration(s.DurationMS) * time.Millisecond}
			if i < maxSums {
				t.Rows = append(t.Rows, row)
			} else {
				t.More = append(t.More, row)
			}
		}
		tables = append(tables, t)
	}
	add("state", r.Costs.ByState)
	add("agent", r.Costs.ByAgent)
	add("model", r.Costs.ByModel)
	return tables
}

// wait is a row in the table of waits.
type wait struct {
	report.Wait
	Lasted time.Duration // if the wait has not ended, the time so far
	Words  string
}

// newWaits returns the waits for answers, times and jobs. Waits for forked agents and for retries
// are left out, because there are many and they are of little interest.
func newWaits(r *insight.Report) []wait {
	var out []wait
	for _, w := range r.Waits {
		if w.For == state.ForAnswer || w.For == state.ForTime || w.For == state.ForJob {
			out = append(out, wait{w, lengthOf(r, w), waitedFor(w)})
		}
	}
	return out
}

// lengthOf returns the duration of a wait, or the duration so far if the wait has not ended.
func lengthOf(r *insight.Report, w report.Wait) time.Duration {
	if w.To.IsZero() {
		return max(0, r.Finished.Sub(w.Since))
	}
	return w.To.Sub(w.Since)
}

// waitWords maps the reason of a wait to a description.
var waitWords = map[state.WaitFor]string{
	state.ForAnswer: "for an answer", state.ForAgents: "for other agents", state.ForTime: "for a time", state.ForJob: "for job ", report.ForRetry: "before a retry",
}

// waitedFor describes the reason of a wait. For a job, it includes the job's name.
func waitedFor(w report.Wait) string { return waitWords[w.For] + w.Job }

// path is the summary above the list of executions: how many executions there are of each kind, and
// the agents.
type path struct {
	All, Failed, Prompts, Scripts int
	Agents                        []string
}

// newPath counts the executions of each kind and collects their agents.
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
			p.Agents = append(p.Agents, e.Agent)
		}
	}
	return p
}
