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

// StopProblem says why a run that has stopped is not completed, and what to do; its class decides
// on the exit code. stateDir is the folder of its state file, "" for the default.
func StopProblem(run *state.Run, stateDir string) *problem.Problem {
	p := &run.Progress
	f := &problem.Problem{Where: run.WorkflowID, What: p.Reason, Hint: report.ResumeHint(run, stateDir)}
	switch p.Status {
	case state.OverBudget, state.OverIterations:
		f.Class = problem.ClassOverLimit
	case state.Suspended:
		f.Class = problem.ClassSuspended
		if !p.Until.IsZero() {
			f.What += fmt.Sprintf(" (until %s)", report.FormatMinute(p.Until))
		}
	case state.Cancelled:
		f.Class, f.What = problem.ClassCancelled, "stopped by "+p.Reason
	default:
		f.Class = problem.ClassRunFailed
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
		if said := strings.TrimSpace(text.LastLines(r.Tail, mostTail)); r.RC != 0 && said != "" {
			return "; the output ends in: " + said
		}
	}
	return ""
}

// mostTail is how many bytes of an output an error of one line has.
const mostTail = 400
