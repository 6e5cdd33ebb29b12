package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/clis"

	"github.com/spf13/cobra"
)

// entry is one line of a help topic: a name and its meaning.
type entry struct{ Name, Meaning string }

// otherVariables are the environment variables that raymond reads, or sets for the processes that it starts,
// except the variables with the paths of agent CLIs.
var otherVariables = []entry{
	{Name: "NO_COLOR", Meaning: "read: if it is set, output has no colours"},
	{Name: "RAYMOND_WORKFLOW_ID", Meaning: "set: id of the run"},
	{Name: "RAYMOND_AGENT_ID", Meaning: "set: name of the agent"},
	{Name: "RAYMOND_STATE", Meaning: "set: file name of the state"},
	{Name: "RAYMOND_MARK", Meaning: "set: a mark that identifies all processes of a run"},
	{Name: "RAYMOND_SCOPE", Meaning: "set for scripts and the agent command: directory of the read-only copy of the workflow"},
	{Name: "RAYMOND_RESULT_FILE", Meaning: "set for scripts: a file with the payload"},
	{Name: "RAYMOND_RESULT", Meaning: "set for scripts: the payload, up to 64 KiB without NUL"},
	{Name: "RAYMOND_INPUT", Meaning: "set for scripts: the same as RAYMOND_RESULT"},
	{Name: "RAYMOND_VAR_NAME", Meaning: "set for scripts: a template variable, from the fork or --meta; NAME in upper case"},
	{Name: "RAYMOND_VAR_NAME_FILE", Meaning: "set for scripts instead of RAYMOND_VAR_NAME: a file with a value over 64 KiB"},
	{Name: "RAYMOND_VISITS", Meaning: "set for scripts: how often the agent has entered this state, including this time"},
	{Name: "RAYMOND_BY", Meaning: "set for scripts: what led here: agent STATE, script STATE, person LOGIN or start"},
	{Name: "RAYMOND_WORK", Meaning: "set for scripts with work=true: a bare repository with the agents' work"},
	{Name: "RAYMOND_WORK_LACKS", Meaning: "set for scripts with work=true: a file that lists the work missing from it"},
	{Name: "RAYMOND_SESSION_MODE", Meaning: "set for the agent command: fresh, resume or branch"},
	{Name: "RAYMOND_SESSION", Meaning: "set for the agent command: its own name for the conversation to resume or branch"},
	{Name: "RAYMOND_SESSION_FILE", Meaning: "set for the agent command: a file in which it may save the conversation"},
	{Name: "RAYMOND_MODEL", Meaning: "set for the agent command: the model for the state"},
	{Name: "RAYMOND_EFFORT", Meaning: "set for the agent command: the effort for the state"},
	{Name: "RAYMOND_PERMISSION_MODE", Meaning: "set for the agent command: the permission mode"},
	{Name: "RAYMOND_ALLOWED_TOOLS", Meaning: "set for the agent command: the rules for allowed tools, one per line"},
	{Name: "RAYMOND_DISALLOWED_TOOLS", Meaning: "set for the agent command: the rules for disallowed tools, one per line"},
	{Name: "RAYMOND_BUDGET_USD", Meaning: "set for the agent command: the maximum cost of the invocation"},
	{Name: "RAYMOND_GEMINI_AUTH", Meaning: "set for the Gemini CLI: how it logs in, used by settings from raymond"},
	{Name: "RAYMOND_CAGE", Meaning: "set in a cage: the writable directories, and the reachable network"},
	{Name: "RAYMOND_SHIM", Meaning: "set by the Action's shim: its directory, which agents can't write; never passed on"},
	{Name: "RAYMOND_SHIM_STDIN", Meaning: "set by the Action's shim: 1 means that stdin ends when the shim ends; never passed on"},
	{Name: "RAYMOND_STATE_KEY", Meaning: "never passed on to agents and scripts"},
}

// topics returns the help topics: environment variables and exit codes.
func topics() []*cobra.Command {
	var variables []entry
	for _, c := range clis.Installable() {
		variables = append(variables, entry{c.PathVariable(), "read: path of the " + c.Program() + ", unless --" + c.Abilities.Backend + " is given"})
	}
	rows := []entry{{Name: "0", Meaning: "completed"}}
	byCode := func(a, b problem.Class) int { return problem.ExitCodes[a] - problem.ExitCodes[b] }
	for _, c := range slices.SortedFunc(maps.Keys(problem.ExitCodes), byCode) {
		code := fmt.Sprint(problem.ExitCodes[c])
		if c == problem.ClassCancelled {
			code = "130, 143"
		}
		rows = append(rows, entry{Name: code, Meaning: fmt.Sprintf("%s: %s", c, problem.Meanings[c])})
	}
	return []*cobra.Command{
		{Use: "environment", Short: "list the environment variables", Long: columns(append(variables, otherVariables...))},
		{Use: "exit-codes", Short: "list the exit codes and the classes of errors", Long: columns(rows)},
	}
}

func columns(rows []entry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r.Name, r.Meaning)
	}
	_ = w.Flush() // writes to a strings.Builder can't fail
	return strings.TrimSuffix(b.String(), "\n")
}
