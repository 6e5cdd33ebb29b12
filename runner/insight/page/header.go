package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// header is the data for the top of the page: the status, the cost, and the result.
type header struct {
	ID, Tone string
	Headline string
	Reason   string
	Asked    []report.Wait // the first open questions
	Next     []fragment    // how to continue the run
	Facts    []fact
	Used     int // share of the budget that was spent, in percent
	Result   []fragment
	Meta     []pair
	RerunOf  string
	LeftOut  []string
}

// widestQuestion is the maximum number of characters of the first open question in the headline.
const widestQuestion = 60

// fact is a figure at the top of the page: its name, its value, and an explanation.
type fact struct{ Name, Value, More string }

// pair is the name and the value of a fact about the run.
type pair struct{ Name, Value string }

// verdicts maps each status of a run to the color and the text that the headline shows.
var verdicts = map[string]struct{ tone, words string }{
	string(state.Completed):      {"ok", "Completed"},
	string(state.Failed):         {"bad", "Failed"},
	string(state.OverBudget):     {"bad", "Stopped over budget"},
	string(state.OverIterations): {"bad", "Stopped by the limit on states"},
	string(state.Suspended):      {"warn", "Suspended"},
	string(state.Cancelled):      {"warn", "Cancelled"},
	string(state.Running):        {"run", "Still running"},
	report.Interrupted:           {"warn", "Interrupted"},
}

// newHeader returns the data for the top of the page.
func newHeader(r *insight.Report) header {
	v := verdicts[r.Status]
	open := slices.DeleteFunc(slices.Clone(r.Waits), func(w report.Wait) bool { return w.For != state.ForAnswer || !w.To.IsZero() })
	headline := v.words
	if !r.Finished.IsZero() {
		headline += " after " + report.FormatDuration(r.Finished.Sub(r.Created))
	}
	headline += ", " + state.Spent{USD: r.Spent.USD, Estimated: r.Spent.Estimated}.String()
	h := header{
		ID: r.WorkflowID, Tone: v.tone, Headline: headline, Reason: r.Reason,
		Facts: []fact{costFact(r), timeFact(r), statesFact(r)}, Asked: open[:min(len(open), 3)], Next: markCommands(r.Next), LeftOut: r.LeftOut,
	}
	if r.Result != "" {
		h.Result = markLinks(r.Result)
	}
	if len(h.Asked) > 0 && r.Status == string(state.Suspended) {
		h.Headline, h.Reason = "Waits for an answer: "+text.Brief(h.Asked[0].Question, widestQuestion), ""
	}
	if t := r.Spent.Tokens; t != nil {
		h.Facts = append(h.Facts, fact{"Tokens", count(t.Input + t.Cached + t.Output), tokensText(t)})
	}
	if r.BudgetUSD > 0 {
		h.Used = max(1, percent(r.Spent.USD, r.BudgetUSD))
	}
	h.Meta = append(h.Meta, pair{"Workflow", r.Scope}, pair{"First state", r.Entry})
	for _, name := range sortedKeys(r.Meta) {
		h.Meta = append(h.Meta, pair{shown(name), r.Meta[name]})
	}
	if r.Outcome != "" {
		h.Meta = append(h.Meta, pair{"Outcome", r.Outcome})
	}
	if r.RerunOf != nil {
		h.RerunOf = fmt.Sprintf("Runs %s again from its execution #%d", r.RerunOf.WorkflowID, r.RerunOf.Exec)
	}
	return h
}

// hasFailed reports whether an execution has failed.
func hasFailed(e report.Exec) bool { return e.Status == report.Failed }

// costFact returns the cost of the run, with its share of the budget and with costs that are
// unknown.
func costFact(r *insight.Report) fact {
	f := fact{"Cost", state.Spent{USD: r.Spent.USD, Estimated: r.Spent.Estimated}.String(), "no budget"}
	if r.BudgetUSD > 0 {
		f.More = fmt.Sprintf("%d %% of %s", percent(r.Spent.USD, r.BudgetUSD), r.BudgetUSD.Dollars())
	}
	if r.Spent.Unknown > 0 {
		f.More += fmt.Sprintf(", and %s of unknown cost", state.Count(r.Spent.Unknown, "invocation"))
	}
	if r.Spent.Unpriced > 0 {
		f.More += ", and " + count(r.Spent.Unpriced) + " tokens without a price"
	}
	if r.InheritedUSD > 0 {
		f.More += ", and " + r.InheritedUSD.Dollars() + " inherited"
	}
	return f
}

// timeFact returns the duration of the run and, if it paused for long, the time in which it worked.
func timeFact(r *insight.Report) fact {
	f := fact{"Time", "none", ""}
	if r.Finished.IsZero() {
		return f
	}
	f.Value = report.FormatDuration(r.Finished.Sub(r.Created))
	var busy time.Duration
	for _, s := range intervals(barTimes(r)) {
		if !s.isPause {
			busy += s.to.Sub(s.from)
		}
	}
	f.More = moment(r.Created) + " UTC"
	if idle := r.Finished.Sub(r.Created) - busy; idle > time.Minute && idle > busy/20 {
		f.More = "working " + report.FormatDuration(busy) + "\nsince " + f.More
	}
	return f
}

// statesFact returns the number of state executions, and how many failed or were repeated.
func statesFact(r *insight.Report) fact {
	failed, again, cut := 0, 0, 0
	for _, e := range r.Executions {
		if hasFailed(e) {
			failed++
		}
		again += len(e.Retries) + len(e.Reminders) + max(0, len(e.Attempts)-1)
		cut += len(e.Interruptions)
	}
	var more []string
	if failed > 0 {
		more = append(more, fmt.Sprintf("%d failed", failed))
	}
	if again > 0 {
		more = append(more, fmt.Sprintf("%d tried again", again))
	}
	if cut > 0 {
		more = append(more, fmt.Sprintf("%d interrupted and repeated", cut))
	}
	if n := len(r.Agents); n > 1 {
		more = append(more, state.Count(n, "agent"))
	}
	if len(more) == 0 {
		more = []string{"none failed"}
	}
	return fact{"State executions", fmt.Sprint(len(r.Executions)), strings.Join(more, ", ")}
}

// tokensText formats numbers of tokens.
func tokensText(t *state.Tokens) string {
	return fmt.Sprintf("%s in, %s cached, %s out", count(t.Input), count(t.Cached), count(t.Output))
}
