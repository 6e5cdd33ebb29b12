package session

import (
	"fmt"
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
		f.What += lastAttempt(run)
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

// lastAttempt says what was not done in the first agent that has no attempts left:
// the command that failed, its exit code and the end of its output.
func lastAttempt(run *state.Run) string {
	for _, a := range run.Agents {
		if a.Failure == nil {
			continue
		}
		if a.Exec == nil || a.Exec.Verdict == nil || a.Failure.Message != usedUp {
			return ""
		}
		for _, r := range a.Exec.Verdict.Results {
			if r.RC != 0 {
				return fmt.Sprintf("; in its last attempt exit code %d of %q: %s", r.RC, r.Cmd, strings.TrimSpace(text.After(r.Tail, mostTail)))
			}
		}
		return "; in its last attempt " + a.Exec.Verdict.Reason
	}
	return ""
}

// usedUp is the fault of an agent whose state has no attempts left.
const usedUp = "max_ralph_iters_reached"

// mostTail is how many bytes of an output an error of one line has.
const mostTail = 400
