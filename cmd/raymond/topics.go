package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/spf13/cobra"
)

// entry is a line of a topic.
type entry struct{ Name, Meaning string }

// variables are the environment variables that raymond reads, and those that it
// sets for what it starts.
var variables = []entry{
	{Name: "RAYMOND_CLAUDE", Meaning: "read: the Claude Code CLI, unless --claude names it"},
	{Name: "RAYMOND_CODEX", Meaning: "read: the Codex CLI, unless --codex names it"},
	{Name: "RAYMOND_GEMINI", Meaning: "read: the Gemini CLI, unless --gemini names it"},
	{Name: "NO_COLOR", Meaning: "read: when it is set, nothing is coloured"},
	{Name: "RAYMOND_WORKFLOW_ID", Meaning: "set: id of the run"},
	{Name: "RAYMOND_AGENT_ID", Meaning: "set: name of the agent"},
	{Name: "RAYMOND_STATE", Meaning: "set: file name of the state"},
	{Name: "RAYMOND_MARK", Meaning: "set: a mark by which everything that a run has started is found"},
	{Name: "RAYMOND_SCOPE", Meaning: "set for scripts and the agent command: folder of the read-only copy of the workflow"},
	{Name: "RAYMOND_RESULT_FILE", Meaning: "set for scripts: a file with the payload, always"},
	{Name: "RAYMOND_RESULT", Meaning: "set for scripts: the payload, up to 64 KiB without NUL"},
	{Name: "RAYMOND_INPUT", Meaning: "set for scripts: the same"},
	{Name: "RAYMOND_VAR_NAME", Meaning: "set for scripts: attribute of the fork, or --meta; NAME in upper case"},
	{Name: "RAYMOND_VAR_NAME_FILE", Meaning: "set for scripts in place of RAYMOND_VAR_NAME: a file with a value over 64 KiB"},
	{Name: "RAYMOND_VISITS", Meaning: "set for scripts: how often the agent has entered this state, this time included"},
	{Name: "RAYMOND_BY", Meaning: "set for scripts: what led here: agent STATE, script STATE, person LOGIN or start"},
	{Name: "RAYMOND_WORK", Meaning: "set for scripts with work=true: a bare repository with the agents' work"},
	{Name: "RAYMOND_WORK_LACKS", Meaning: "set for scripts with work=true: a file that names what of the work is not in it"},
	{Name: "RAYMOND_SESSION_MODE", Meaning: "set for the agent command: fresh, resume or branch"},
	{Name: "RAYMOND_SESSION", Meaning: "set for the agent command: what it has called the conversation that it resumes or branches"},
	{Name: "RAYMOND_SESSION_FILE", Meaning: "set for the agent command: a file that it may keep the conversation in"},
	{Name: "RAYMOND_MODEL", Meaning: "set for the agent command: the model that the state asks for"},
	{Name: "RAYMOND_EFFORT", Meaning: "set for the agent command: the effort that the state asks for"},
	{Name: "RAYMOND_PERMISSION_MODE", Meaning: "set for the agent command: the permission mode"},
	{Name: "RAYMOND_ALLOWED_TOOLS", Meaning: "set for the agent command: the rules of allowed tools, one a line"},
	{Name: "RAYMOND_DISALLOWED_TOOLS", Meaning: "set for the agent command: the rules of disallowed tools, one a line"},
	{Name: "RAYMOND_BUDGET_USD", Meaning: "set for the agent command: what the invocation may cost"},
	{Name: "RAYMOND_GEMINI_AUTH", Meaning: "set for the Gemini CLI: how it logs in, for settings that raymond gives it"},
	{Name: "RAYMOND_CAGE", Meaning: "set in a cage: the folders that may be written, and what the network reaches"},
	{Name: "RAYMOND_SHIM", Meaning: "set by the Action's shim: the folder that it lies in, which agents can't write; never passed on"},
	{Name: "RAYMOND_SHIM_STDIN", Meaning: "set by the Action's shim: 1 says that stdin ends when the shim is gone; never passed on"},
	{Name: "RAYMOND_STATE_KEY", Meaning: "never passed on to agents and scripts"},
}

// exitCodesTopic is help on the exit codes.
func exitCodesTopic() *cobra.Command {
	rows := []entry{{Name: "0", Meaning: "completed"}}
	byCode := func(a, b problem.Class) int { return problem.ExitCodes[a] - problem.ExitCodes[b] }
	for _, c := range slices.SortedFunc(maps.Keys(problem.ExitCodes), byCode) {
		code := fmt.Sprint(problem.ExitCodes[c])
		if c == problem.ClassCancelled {
			code = "130, 143"
		}
		rows = append(rows, entry{Name: code, Meaning: fmt.Sprintf("%s: %s", c, problem.Meanings[c])})
	}
	return &cobra.Command{Use: "exit-codes", Short: "list the exit codes and the classes of errors", Long: columns(rows)}
}

func columns(rows []entry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r.Name, r.Meaning)
	}
	_ = w.Flush() // a Builder takes everything
	return strings.TrimSuffix(b.String(), "\n")
}
