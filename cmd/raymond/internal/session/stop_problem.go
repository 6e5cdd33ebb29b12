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

// StopProblem returns the reason why a stopped run is not completed, with a hint. The problem's class
// determines the exit code. stateDir is the directory of the state file; if empty, the hint assumes the
// default directory.
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

// lastOutput returns the end of a done_when command's output if the first failed agent has failed because
// it has no attempts left. The command is the first failed command. Otherwise, lastOutput returns "".
func lastOutput(run *state.Run) string {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 || run.Agents[i].Exec == nil || run.Agents[i].Exec.Verdict == nil || !state.IsExhausted(run.Agents[i].Failure.Message) {
		return ""
	}
	for _, r := range run.Agents[i].Exec.Verdict.Results {
		if output := strings.TrimSpace(text.LastLines(r.Tail, maxTail)); r.RC != 0 && output != "" {
			return "; the output ends in: " + output
		}
	}
	return ""
}

// maxTail is the maximum length of the output that an error line quotes, in bytes.
const maxTail = 400
