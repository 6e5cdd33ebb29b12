package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Advice is what helps a run of which an agent has failed.
type Advice struct {
	FirstStep       string // what has to be done first, without a full stop; "" for nothing that is known
	NeedsFileChange bool   // it is a change of files, which the re-run button does not see
	RerunFrom       string // the state from which the run begins again, since a resume would say the same; "" where it is resumed
	flags           string // of the resume
}

// fixTheCause is what comes first where nothing is known that says more.
const fixTheCause = "fix the cause"

// cureOf returns what helps a run on a command line. In what comes first a state is named as it is.
func cureOf(run *state.Run) Advice {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 {
		return Advice{FirstStep: fixTheCause}
	}
	a, fault := run.Agents[i], run.Agents[i].Failure.Message
	kind, _, _ := strings.Cut(fault, ": ")
	f, isFault := runner.FindFault(kind)
	var c Advice
	switch {
	// The first three are failures at limits of the run. A resume alone would fail again, as after the faults of runner.Faults.
	case kind == "max-agents":
		c.flags = fmt.Sprint(" --max-agents ", 2*run.Options.MaxAgents)
	case kind == "max-depth":
		c.flags = fmt.Sprint(" --max-depth ", 2*run.Options.MaxDepth)
	case kind == "budget":
		c.flags = " --budget 0"
	case isFault && f.Kind == runner.FaultOfConversation && a.Session != nil: // a resume would continue the same conversation and fail again
		c = Advice{FirstStep: "have a state before {state} reset", NeedsFileChange: true}
		if by, from, _ := strings.Cut(a.By, " "); by == "agent" || by == "script" {
			c.RerunFrom = from
		}
	case isFault:
		c = Advice{FirstStep: f.Remedy, NeedsFileChange: f.NeedsFileChange}
	case state.IsExhausted(fault), slices.Contains([]state.Class{state.Transient, state.TimedOut, state.Service}, state.Class(a.Failure.Class)):
	default:
		c = Advice{FirstStep: fixTheCause, NeedsFileChange: filepath.Ext(a.State) != ".md"}
	}
	if rules := refusedRules(a); len(rules) > 0 && (c.FirstStep == fixTheCause || state.IsExhausted(fault)) {
		c = Advice{FirstStep: "allow what was refused, if the task needs it (this rule was not tried)", flags: " --allowed-tools " + quoted(strings.Join(slices.Concat(run.Options.AllowedTools, rules), ","))}
	}
	c.FirstStep = strings.ReplaceAll(c.FirstStep, "{state}", name(a.State))
	return c
}

// refusedRules returns the rules that may allow the uses of tools that an agent was refused, five at most.
func refusedRules(a *state.Agent) (rules []string) {
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

// AdviceForJob returns what helps a run in a job that has failed.
func AdviceForJob(run *state.Run) Advice {
	c := cureOf(run)
	if flag, value, isFlag := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); isFlag {
		c.FirstStep, c.NeedsFileChange = "set `"+flag+": "+value+"`", true
	}
	if f, _ := runner.FindFault("authentication"); c.FirstStep == fixTheCause || c.FirstStep == f.Remedy { // the action itself names the input for the key
		c.FirstStep = ""
	}
	return c
}

// ResumeHint says on a command line what can be done with a run that has stopped: one line of
// our own words, which ends in a command. stateDir is the folder of its state file, ""
// for the default. The line is "" for a run that is completed.
func ResumeHint(run *state.Run, stateDir string) string {
	id := plain(run.WorkflowID)
	if stateDir != "" && stateDir != state.DefaultDir {
		id += " --state-dir " + quoted(stateDir)
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

func failedHint(run *state.Run, id string) string {
	c := cureOf(run)
	command := "raymond resume " + id + c.flags
	if c.RerunFrom != "" {
		command = "raymond rerun " + id + " --from " + quoted(c.RerunFrom)
	}
	if c.FirstStep == "" {
		return "to try again: " + command
	}
	return c.FirstStep + ", then: " + command
}
