package insight

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The limits of a report. What texts take is measured where they are shown, so that a page
// with all of them stays below 15 MB.
const (
	mostInPage    = 12 << 20
	mostRows      = 5000 // executions, agents, waits and the like, each
	perExec       = 1200 // bytes for a bar and a section without texts
	perAgent      = 400
	perText       = 150 // for a row that has a text of an execution
	leastMessages = 2 << 20

	sharedResults = 1 << 20 // for the results, the errors and the variables of agents, each
	sharedErrors  = 1 << 20 // for the errors of executions
	sharedBulk    = 2 << 20 // for outputs of commands and the like
	mostBulk      = 128 << 10
)

// bound leaves out what is too much, and returns how many bytes are left for files and
// messages.
func bound(r *Report) int {
	boundLists(r)
	r.Result = short(r.Result, 64<<10)
	used := boundVars(r.Meta, 16<<10) + len(r.Executions)*perExec + len(r.Agents)*perAgent
	share := func(all, n, most int) int { return max(200, min(most, all/max(1, n))) }
	each := share(sharedResults, len(r.Agents), 16<<10)
	for i := range r.Agents {
		a := &r.Agents[i]
		used += fit(&a.Result, each) + fit(&a.Error, each) + boundVars(a.Vars, each)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		used += fit(&w.Question, each) + fit(&w.Answer, each) + perAgent
		for j := range w.Choices {
			used += fit(&w.Choices[j], perAgent)
		}
	}
	each = share(sharedErrors, len(r.Executions), 8<<10)
	bulk, cutOff := sharedBulk, 0
	for _, x := range byInterest(r.Executions) {
		n := boundBulk(x, min(bulk, mostBulk))
		bulk -= n
		used += n + fit(&x.Error, each)
		if x.IsCut {
			cutOff++
		}
	}
	if cutOff > 0 {
		r.leaveOut("Of %d state executions some output of commands or lines of progress are left out.", cutOff)
	}
	return max(leastMessages, mostInPage-used)
}

// leaveOut says what is not in the report.
func (r *Report) leaveOut(format string, args ...any) {
	r.LeftOut = append(r.LeftOut, fmt.Sprintf(format, args...))
}

// boundLists keeps the executions that failed and the newest ones, and what belongs to them.
func boundLists(r *Report) {
	if all := len(r.Executions); all > mostRows {
		keep := map[int]bool{}
		for _, x := range byInterest(r.Executions)[:mostRows] {
			keep[x.N] = true
		}
		r.Executions = slices.DeleteFunc(r.Executions, func(x report.Exec) bool { return !keep[x.N] })
		r.leaveOut("%d of %d state executions are here: those that failed and the newest. The sums are of all.", mostRows, all)
	}
	if all := len(r.Agents); all > mostRows {
		at := map[string]bool{}
		for i := range r.Executions {
			at[r.Executions[i].Agent] = true
		}
		at[r.Agents[0].ID] = true
		r.Agents = slices.DeleteFunc(r.Agents, func(a report.Agent) bool { return !at[a.ID] && a.Status != report.Failed })
		r.Agents = r.Agents[:min(len(r.Agents), mostRows)]
		r.leaveOut("%d of %d agents are here.", len(r.Agents), all)
	}
	r.Waits, r.Limits = newest(r, r.Waits, "waits"), newest(r, r.Limits, "messages on limits")
	r.Costs.ByAgent = r.Costs.ByAgent[:min(len(r.Costs.ByAgent), mostRows)]
	r.Costs.ByState = r.Costs.ByState[:min(len(r.Costs.ByState), mostRows)]
}

// newest returns the last rows of a list.
func newest[T any](r *Report, list []T, what string) []T {
	extra := max(0, len(list)-mostRows)
	if extra > 0 {
		r.leaveOut("The last %d of %d %s are here.", mostRows, len(list), what)
	}
	return list[extra:]
}

// boundBulk shortens the texts of an execution that may be long to what there is room for, each
// to its share, and returns what they take. Where there is no room for shares there are none.
func boundBulk(x *report.Exec, most int) int {
	bulk := report.Exec{
		Stdout: x.Stdout, Stderr: x.Stderr, Output: x.Output, Reminders: x.Reminders, Retries: x.Retries,
		Interruptions: x.Interruptions, Attempts: x.Attempts, Refusals: x.Refusals,
	}
	texts, n := 0, 0
	bulk = state.MapTexts(bulk, func(text string) string {
		if text != "" {
			texts, n = texts+1, n+cost(text)+perText
		}
		return text
	})
	switch {
	case n <= most:
		return n
	case most < 2*perText*texts:
		bulk, most = report.Exec{}, 0
	default:
		bulk = state.MapTexts(bulk, func(text string) string { return short(text, most/texts-perText) })
	}
	x.Stdout, x.Stderr, x.Output, x.Reminders, x.Retries = bulk.Stdout, bulk.Stderr, bulk.Output, bulk.Reminders, bulk.Retries
	x.Interruptions, x.Attempts, x.Refusals, x.IsCut = bulk.Interruptions, bulk.Attempts, bulk.Refusals, true
	return most
}

// boundVars shortens variables, and returns what they take.
func boundVars(vars map[string]string, most int) int {
	n, each := 0, max(100, most/max(1, len(vars)))
	for name, value := range vars {
		n += cost(name) + fit(&value, each) + 50
		vars[name] = value
	}
	return n
}
