package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Advice is a recommendation for a run with a failed agent.
type Advice struct {
	FirstStep       string // first thing to do before the run continues, without a full stop; "" if unknown or not needed
	NeedsFileChange bool   // FirstStep changes files, which the re-run button of a job doesn't use
	RerunFrom       string // the state from which the run must be repeated, since a resume would fail again; "" if it can be resumed
	flags           string // flags of the resume command
}

// fixTheCause is the first step if nothing more specific is known.
const fixTheCause = "fix the cause"

// adviceForCLI returns the advice for the command line. {state} in the first step is replaced by
// the state's name.
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
	// Limits of the run come first. After these and after the faults in runner.Faults, a resume
	// without changes would fail again.
	case kind == "max-agents":
		c.flags = fmt.Sprint(" --max-agents ", 2*run.Options.MaxAgents)
	case kind == "max-depth":
		c.flags = fmt.Sprint(" --max-depth ", 2*run.Options.MaxDepth)
	case kind == "budget":
		c.flags = " --budget 0"
	case isFault && f.Kind == runner.FaultOfConversation && a.Session != nil: // a resume would continue the same conversation and fail again
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

// rulesForRefusals returns up to five rules that may allow the tool uses that were refused to an
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

// AdviceForJob returns the advice for a run in a job.
func AdviceForJob(run *state.Run) Advice {
	c := adviceForCLI(run)
	if flag, value, isFlag := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); isFlag {
		c.FirstStep, c.NeedsFileChange = "set `"+flag+": "+value+"`", true
	}
	if f, _ := runner.FindFault("authentication"); c.FirstStep == fixTheCause || c.FirstStep == f.Remedy { // the action itself names the input for the key
		c.FirstStep = ""
	}
	return c
}

// ResumeHint returns a line with the command that continues a stopped run. It
// contains only text of raymond, and ends with a command. stateDir is the folder of the state file,
// "" for the default. The line is "" for a completed run.
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

// failedHint returns the hint for a failed run.
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
