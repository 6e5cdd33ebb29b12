package insight

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// The limits of a report in bytes. The size of a text is its size in the page, where it is escaped.
// With these limits, a page never exceeds 15 MB.
const (
	maxPage        = 12 << 20
	maxRows        = 5000 // number of executions, agents, waits and limits, each
	bytesPerExec   = 1200 // estimate for an execution's bar and section, without texts
	bytesPerAgent  = 400  // estimate for an agent's row
	bytesPerText   = 150  // estimate for the row that contains a text of an execution
	minForMessages = 2 << 20

	// maxResults is the limit for the results of all agents, and also for their errors and for their
	// variables.
	maxResults      = 1 << 20
	maxErrors       = 1 << 20 // for the errors of all executions
	maxTexts        = 2 << 20 // for outputs of commands, progress lines and similar texts of all executions
	maxTextsPerExec = 128 << 10
)

// limitSize removes data from the report that exceeds the limits. It returns how many bytes remain
// for changed files and messages.
func limitSize(r *Report) int {
	limitLists(r)
	r.Result = shorten(r.Result, 64<<10)
	used := limitVars(r.Meta, 16<<10) + len(r.Executions)*bytesPerExec + len(r.Agents)*bytesPerAgent
	share := func(all, n, most int) int { return max(200, min(most, all/max(1, n))) }
	each := share(maxResults, len(r.Agents), 16<<10)
	for i := range r.Agents {
		a := &r.Agents[i]
		used += truncate(&a.Result, each) + truncate(&a.Error, each) + limitVars(a.Vars, each)
	}
	for i := range r.Waits {
		w := &r.Waits[i]
		used += truncate(&w.Question, each) + truncate(&w.Answer, each) + bytesPerAgent
		for j := range w.Choices {
			used += truncate(&w.Choices[j], bytesPerAgent)
		}
	}
	each = share(maxErrors, len(r.Executions), 8<<10)
	bulk, cutOff := maxTexts, 0
	for _, x := range byImportance(r.Executions) {
		n := limitTexts(x, min(bulk, maxTextsPerExec))
		bulk -= n
		used += n + truncate(&x.Error, each)
		if x.IsCut {
			cutOff++
		}
	}
	if cutOff > 0 {
		r.addOmission("Some command output or progress lines of %d state executions are left out.", cutOff)
	}
	return max(minForMessages, maxPage-used)
}

// addOmission adds a sentence to the report about data that was left out.
func (r *Report) addOmission(format string, args ...any) {
	r.LeftOut = append(r.LeftOut, fmt.Sprintf(format, args...))
}

// limitLists shortens the lists of the report. It keeps the failed and the newest executions, the
// agents of these executions, and failed agents.
func limitLists(r *Report) {
	if all := len(r.Executions); all > maxRows {
		keep := map[int]bool{}
		for _, x := range byImportance(r.Executions)[:maxRows] {
			keep[x.N] = true
		}
		r.Executions = slices.DeleteFunc(r.Executions, func(x report.Exec) bool { return !keep[x.N] })
		r.addOmission("%d of %d state executions are shown: the failed and the newest ones. The sums include all.", maxRows, all)
	}
	if all := len(r.Agents); all > maxRows {
		at := map[string]bool{}
		for i := range r.Executions {
			at[r.Executions[i].Agent] = true
		}
		at[r.Agents[0].ID] = true
		r.Agents = slices.DeleteFunc(r.Agents, func(a report.Agent) bool { return !at[a.ID] && a.Status != report.Failed })
		r.Agents = r.Agents[:min(len(r.Agents), maxRows)]
		r.addOmission("%d of %d agents are shown.", len(r.Agents), all)
	}
	r.Waits, r.Limits = newest(r, r.Waits, "waits"), newest(r, r.Limits, "messages on limits")
	r.Costs.ByAgent = r.Costs.ByAgent[:min(len(r.Costs.ByAgent), maxRows)]
	r.Costs.ByState = r.Costs.ByState[:min(len(r.Costs.ByState), maxRows)]
}

// newest returns the last maxRows elements of a list. If it removes any, it notes this in the
// report.
func newest[T any](r *Report, list []T, what string) []T {
	extra := max(0, len(list)-maxRows)
	if extra > 0 {
		r.addOmission("The last %d of %d %s are shown.", maxRows, len(list), what)
	}
	return list[extra:]
}

// limitTexts limits the size of an execution's long texts to most bytes in total. If the texts are
// larger, each is shortened to the same size, or all are removed if that size would be too small.
// limitTexts returns the size of the texts.
func limitTexts(x *report.Exec, most int) int {
	bulk := report.Exec{
		Stdout: x.Stdout, Stderr: x.Stderr, Output: x.Output, Reminders: x.Reminders, Retries: x.Retries,
		Interruptions: x.Interruptions, Attempts: x.Attempts, Refusals: x.Refusals,
	}
	texts, n := 0, 0
	bulk = state.MapTexts(bulk, func(text string) string {
		if text != "" {
			texts, n = texts+1, n+escapedSize(text)+bytesPerText
		}
		return text
	})
	switch {
	case n <= most:
		return n
	case most < 2*bytesPerText*texts:
		bulk, most = report.Exec{}, 0
	default:
		bulk = state.MapTexts(bulk, func(text string) string { return shorten(text, most/texts-bytesPerText) })
	}
	x.Stdout, x.Stderr, x.Output, x.Reminders, x.Retries = bulk.Stdout, bulk.Stderr, bulk.Output, bulk.Reminders, bulk.Retries
	x.Interruptions, x.Attempts, x.Refusals, x.IsCut = bulk.Interruptions, bulk.Attempts, bulk.Refusals, true
	return most
}

// limitVars shortens the values of variables so that their total size is not much larger than most.
// It returns the size of the variables.
func limitVars(vars map[string]string, most int) int {
	n, each := 0, max(100, most/max(1, len(vars)))
	for name, value := range vars {
		n += escapedSize(name) + truncate(&value, each) + 50
		vars[name] = value
	}
	return n
}
