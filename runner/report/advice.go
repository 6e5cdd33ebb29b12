package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// cure is what helps a run of which an agent has failed.
type cure struct {
	do      string // what comes first; {state} is the agent's state; "" for nothing
	flags   string // of the resume
	inFiles bool   // it changes files of the workflow
	rerun   bool   // from the state that led to the agent's: a resume would say the same
}

// cures are those of failures that a resume alone would repeat, by what their messages begin with
// before a colon.
var cures = map[string]cure{
	"authentication":    {do: "set a valid ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (OPENAI_API_KEY for Codex, GEMINI_API_KEY for Gemini CLI), or log in with the agent CLI"},
	"billing":           {do: "add credit to the account of the API"},
	"unknown model":     {do: "name another model, in {state} where that names one, else by --model", inFiles: true},
	"bad request":       {do: "change {state}", inFiles: true},
	"session gone":      {do: "have a state before {state} reset", inFiles: true, rerun: true},
	"the model refused": {do: "change {state}", inFiles: true},
	"max-agents":        {flags: " --max-agents {agents}"},
	"max-depth":         {flags: " --max-depth {depth}"},
	"budget":            {flags: " --budget 0"},
}

// fixTheCause is what comes first where nothing is known that says more.
const fixTheCause = "fix the cause"

// tooLong are what agent CLIs say of a conversation that their model has no room for.
var tooLong = []string{"Prompt is too long", "Request too large", "ran out of room in the model's context window"}

// cureOf returns what helps a run, and the first agent that has failed; nil for none.
func cureOf(run *state.Run) (cure, *state.Agent) {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 {
		return cure{do: fixTheCause}, nil
	}
	a, fault := run.Agents[i], run.Agents[i].Failure.Message
	kind, _, _ := strings.Cut(fault, ": ")
	c, isKnown := cures[kind]
	switch {
	case isKnown:
	case state.IsExhausted(fault), slices.Contains([]state.Class{state.Transient, state.TimedOut, state.Service}, state.Class(a.Failure.Class)):
	default:
		c = cure{do: fixTheCause, inFiles: filepath.Ext(a.State) != ".md"}
	}
	if kind == "bad request" && slices.ContainsFunc(tooLong, func(words string) bool { return strings.Contains(fault, words) }) {
		c.do, c.rerun = "shorten {state}", a.Session != nil // else the conversation is as long again
		if c.rerun {
			c.do = "have a state before {state} reset"
		}
	}
	c.rerun = c.rerun && before(a) != ""
	values := strings.NewReplacer("{state}", name(a.State), "{agents}", fmt.Sprint(2*run.Options.MaxAgents), "{depth}", fmt.Sprint(2*run.Options.MaxDepth))
	c.do, c.flags = values.Replace(c.do), values.Replace(c.flags)
	return c, a
}

// before is the state that led an agent to its own; "" for none that is known.
func before(a *state.Agent) string {
	kind, from, _ := strings.Cut(a.By, " ")
	if kind != "agent" && kind != "script" {
		return ""
	}
	return from
}

// Cure is what helps a run in a job that has failed.
type Cure struct {
	Do      string // what has to be done, without a full stop; "" for nothing that is known
	InFiles bool   // it is a change of files, which the re-run button does not see
	From    string // the state from which the run begins again; "" where it is resumed
}

// CureOf returns what helps a run in a job that has failed.
func CureOf(run *state.Run) Cure {
	c, a := cureOf(run)
	cure := Cure{Do: c.do, InFiles: c.inFiles}
	switch flag, value, _ := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); {
	case flag != "":
		cure.Do, cure.InFiles = "set `"+flag+": "+value+"`", true
	case c.rerun:
		cure.From = before(a)
	}
	if cure.Do == fixTheCause || c.do == cures["authentication"].do { // the job knows the input of the key
		cure.Do = ""
	}
	return cure
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
		return "to resume with a larger limit: " + resume + " --max-iterations " + fmt.Sprint(run.Begun()+max(o.MaxIterations, 1))
	case state.Suspended:
		waits := WaitsOf(run)
		if len(waits) == 0 && !p.Until.IsZero() {
			return "to resume from " + Minute(p.Until) + " on: " + resume
		}
		return waitHint(resume, waits)
	case state.Failed:
		return failedHint(run, id)
	}
	return "to resume: " + resume
}

func failedHint(run *state.Run, id string) string {
	c, a := cureOf(run)
	command := "raymond resume " + id + c.flags
	if c.rerun {
		command = "raymond rerun " + id + " --from " + quoted(before(a))
	}
	if c.do == "" {
		return "to try again: " + command
	}
	return c.do + ", then: " + command
}
