package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Advice recommends how to continue a run in which an agent has failed.
type Advice struct {
	// FirstStep is the first step for the user before the run continues, without a full stop. It is
	// empty if no such step is known or needed.
	FirstStep string
	// NeedsFileChange is set if FirstStep changes files. In this case, GitHub's button that re-runs
	// a job does not help, because a re-run uses the old files.
	NeedsFileChange bool
	// RerunFrom is the state from which the run must be repeated, because a resume would fail
	// again. It is empty if the run can be resumed.
	RerunFrom string
	flags     string // flags of the resume command
}

// fixTheCause is the recommended first step if nothing more specific is known.
const fixTheCause = "fix the cause"

// adviceForCLI returns the advice for a user of the command line. If several agents have failed, the
// advice is for the first one. {state} in the first step is replaced with the state of that agent.
func adviceForCLI(run *state.Run) Advice {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 {
		return Advice{FirstStep: fixTheCause}
	}
	a, fault := run.Agents[i], run.Agents[i].Failure.Message
	kind, _, _ := strings.Cut(fault, ": ")
	f, isFault := runner.FindFault(kind)
	var c Advice
	switch {
	// The agent has reached a limit of the run, so a resume with the same limit would fail again.
	// After the faults in runner.Faults, which follow below, a resume also needs a change.
	case kind == "max-agents":
		c.flags = fmt.Sprint(" --max-agents ", 2*run.Options.MaxAgents)
	case kind == "max-depth":
		c.flags = fmt.Sprint(" --max-depth ", 2*run.Options.MaxDepth)
	case kind == "budget":
		c.flags = " --budget 0"
	// A resume would continue the same conversation and fail again.
	case isFault && f.Kind == runner.FaultOfConversation && a.Session != nil:
		c = Advice{FirstStep: "reset the conversation in a state before {state}", NeedsFileChange: true}
		if by, from, _ := strings.Cut(a.By, " "); by == "agent" || by == "script" {
			c.RerunFrom = from
		}
	case isFault:
		c = Advice{FirstStep: f.Remedy, NeedsFileChange: f.NeedsFileChange}
	case state.IsExhausted(fault), slices.Contains([]state.Class{state.Transient, state.TimedOut, state.Service}, state.Class(a.Failure.Class)):
	default:
		c = Advice{FirstStep: fixTheCause, NeedsFileChange: filepath.Ext(a.State) != ".md"}
	}
	if rules := rulesForRefusals(a); len(rules) > 0 && (c.FirstStep == fixTheCause || state.IsExhausted(fault)) {
		c = Advice{FirstStep: "allow what was refused, if the task needs it (this rule was not tried)", flags: " --allowed-tools " + shellQuoted(strings.Join(slices.Concat(run.Options.AllowedTools, rules), ","))}
	}
	c.FirstStep = strings.ReplaceAll(c.FirstStep, "{state}", name(a.State))
	return c
}

// rulesForRefusals returns up to five rules that may allow the tool calls that were denied to an
// agent.
func rulesForRefusals(a *state.Agent) (rules []string) {
	if a.Exec == nil {
		return nil
	}
	for _, r := range a.Exec.Refusals {
		for _, rule := range r.Allow {
			if len(rules) < 5 && !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// AdviceForJob returns the advice for a run that is driven by a CI job.
func AdviceForJob(run *state.Run) Advice {
	c := adviceForCLI(run)
	if flag, value, isFlag := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); isFlag {
		input := flag + ": " + value
		if strings.HasPrefix(flag, "max-") {
			input = "args: --" + flag + "=" + value
		}
		c.FirstStep, c.NeedsFileChange = "set `"+input+"`", true
	}
	// Leave out the general step. Also leave out the step for a missing or invalid API key: the
	// action's own message names the input for the key.
	if f, _ := runner.FindFault("authentication"); c.FirstStep == fixTheCause || c.FirstStep == f.Remedy {
		c.FirstStep = ""
	}
	return c
}

// ResumeHint returns a line with the command that continues a stopped run. If agents wait, the line
// may contain several commands. Apart from names, paths and the choices of questions, it contains
// only raymond's own words. It is empty if the run has completed. stateDir is the folder of the state
// file. If stateDir is empty, the default folder is used.
func ResumeHint(run *state.Run, stateDir string) string {
	id := plain(run.WorkflowID)
	if stateDir != "" && stateDir != state.DefaultDir {
		id += " --state-dir " + shellQuoted(stateDir)
	}
	p, o, resume := &run.Progress, &run.Options, "raymond resume "+id
	switch p.Status {
	case state.Completed:
		return ""
	case state.OverBudget:
		return "to resume with a larger budget: " + resume + " --budget " + (run.Spent().USD + max(o.BudgetUSD, state.Dollar)).String()
	case state.OverIterations:
		return "to resume with a larger limit: " + resume + " --max-iterations " + fmt.Sprint(run.OwnExecutions()+max(o.MaxIterations, 1))
	case state.Suspended:
		waits := WaitsOf(run)
		if len(waits) == 0 && !p.Until.IsZero() {
			return "to resume from " + FormatMinute(p.Until) + " on: " + resume
		}
		return waitHint(resume, waits)
	case state.Failed:
		return failedHint(run, id)
	}
	return "to resume: " + resume
}

// failedHint returns the ResumeHint for a failed run.
func failedHint(run *state.Run, id string) string {
	c := adviceForCLI(run)
	command := "raymond resume " + id + c.flags
	if c.RerunFrom != "" {
		command = "raymond rerun " + id + " --from " + shellQuoted(c.RerunFrom)
	}
	if c.FirstStep == "" {
		return "to try again: " + command
	}
	return c.FirstStep + ", then: " + command
}
