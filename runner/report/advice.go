package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// Cure is what helps a run of which an agent has failed.
type Cure struct {
	Do      string // what has to be done first, without a full stop; "" for nothing that is known
	InFiles bool   // it is a change of files, which the re-run button does not see
	From    string // the state from which the run begins again, since a resume would say the same; "" where it is resumed
	flags   string // of the resume
}

// fromBefore stands in From for the state that led to the agent's.
const fromBefore = "{before}"

// cures are those of failures that a resume alone would repeat, by what their messages begin with
// before a colon.
var cures = map[string]Cure{
	"authentication":    {Do: "set a valid ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN (OPENAI_API_KEY for Codex, GEMINI_API_KEY for Gemini CLI), or log in with the agent CLI"},
	"billing":           {Do: "add credit to the account of the API"},
	"unknown model":     {Do: "name another model, in {state} where that names one, else by --model", InFiles: true},
	"bad request":       {Do: "change {state}", InFiles: true},
	"session gone":      {Do: "have a state before {state} reset", InFiles: true, From: fromBefore},
	"the model refused": {Do: "change {state}", InFiles: true},
	"max-agents":        {flags: " --max-agents {agents}"},
	"max-depth":         {flags: " --max-depth {depth}"},
	"budget":            {flags: " --budget 0"},
}

// fixTheCause is what comes first where nothing is known that says more.
const fixTheCause = "fix the cause"

// tooLong are what agent CLIs say of a conversation that their model has no room for.
var tooLong = []string{"Prompt is too long", "Request too large", "ran out of room in the model's context window"}

// cureOf returns what helps a run on a command line. In what comes first a state is named as it is.
func cureOf(run *state.Run) Cure {
	i := slices.IndexFunc(run.Agents, func(a *state.Agent) bool { return a.Failure != nil })
	if i < 0 {
		return Cure{Do: fixTheCause}
	}
	a, fault := run.Agents[i], run.Agents[i].Failure.Message
	kind, _, _ := strings.Cut(fault, ": ")
	c, isKnown := cures[kind]
	switch {
	case isKnown:
	case state.IsExhausted(fault), slices.Contains([]state.Class{state.Transient, state.TimedOut, state.Service}, state.Class(a.Failure.Class)):
	default:
		c = Cure{Do: fixTheCause, InFiles: filepath.Ext(a.State) != ".md"}
	}
	if kind == "bad request" && slices.ContainsFunc(tooLong, func(words string) bool { return strings.Contains(fault, words) }) {
		c.Do = "shorten {state}"
		if a.Session != nil { // else the conversation is as long again
			c.Do, c.From = "have a state before {state} reset", fromBefore
		}
	}
	values := strings.NewReplacer("{state}", name(a.State), "{agents}", fmt.Sprint(2*run.Options.MaxAgents), "{depth}", fmt.Sprint(2*run.Options.MaxDepth))
	c.Do, c.flags = values.Replace(c.Do), values.Replace(c.flags)
	if c.From != "" {
		c.From = "" // of none that is known
		if by, from, _ := strings.Cut(a.By, " "); by == "agent" || by == "script" {
			c.From = from
		}
	}
	return c
}

// CureOf returns what helps a run in a job that has failed.
func CureOf(run *state.Run) Cure {
	c := cureOf(run)
	if flag, value, isFlag := strings.Cut(strings.TrimPrefix(c.flags, " --"), " "); isFlag {
		c.Do, c.InFiles = "set `"+flag+": "+value+"`", true
	}
	if c.Do == fixTheCause || c.Do == cures["authentication"].Do { // the job knows the input of the key
		c.Do = ""
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
	c := cureOf(run)
	command := "raymond resume " + id + c.flags
	if c.From != "" {
		command = "raymond rerun " + id + " --from " + quoted(c.From)
	}
	if c.Do == "" {
		return "to try again: " + command
	}
	return c.Do + ", then: " + command
}
