package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Outcome says why a run that has stopped is not completed; its class decides on
// the exit code.
func Outcome(run *state.Run) *problem.Problem {
	p := &run.Progress
	again := "raymond resume " + run.WorkflowID
	f := &problem.Problem{Where: run.WorkflowID, What: p.Reason, Hint: "to resume: " + again}
	switch p.Status {
	case state.OverBudget:
		f.Class, f.Hint = problem.ClassOverLimit, fmt.Sprintf("to resume: %s --budget with more than %s", again, run.Spent().Exactly())
	case state.OverIterations:
		f.Class, f.Hint = problem.ClassOverLimit, fmt.Sprintf("to resume: %s --max-iterations with more than %d", again, run.Begun())
	case state.Suspended:
		f.Class, f.Hint = problem.ClassSuspended, report.ResumeHint(run.WorkflowID, report.WaitsOf(run))
		if !p.Until.IsZero() {
			f.What += fmt.Sprintf(" (until %s)", report.Minute(p.Until))
		}
	case state.Cancelled:
		f.Class, f.What = problem.ClassCancelled, "stopped by "+p.Reason
	default:
		f.Class, f.Hint = problem.ClassRunFailed, "to try again: "+again
		f.What += lastOutput(run)
		for _, a := range run.Agents {
			if a.Failure != nil && a.Failure.Class == string(state.Machine) {
				f.Class = problem.ClassRuntime
			}
			if a.Failure != nil && a.Failure.Class == string(state.Denied) {
				f.Class = problem.ClassDenied
				break
			}
		}
	}
	return f
}

// lastOutput is what the command wrote last that failed first, in the first agent that has
// failed, if that has no attempts left.
func lastOutput(run *state.Run) string {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 || run.Agents[i].Exec == nil || run.Agents[i].Exec.Verdict == nil || !state.IsExhausted(run.Agents[i].Failure.Message) {
		return ""
	}
	for _, r := range run.Agents[i].Exec.Verdict.Results {
		if said := strings.TrimSpace(text.After(r.Tail, mostTail)); r.RC != 0 && said != "" {
			return "; the output ends in: " + said
		}
	}
	return ""
}

// mostTail is how many bytes of an output an error of one line has.
const mostTail = 400
