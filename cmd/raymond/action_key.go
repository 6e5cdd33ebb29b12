package main

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// adviseKey says what to do when agents could not log in, which the agent CLI
// words for somebody at a terminal.
func (x *action) adviseKey(run *state.Run) {
	advice := keyAdvice(run, x.in.AnthropicAPIKey != "" || x.in.ClaudeCodeToken != "")
	if advice == "" {
		return
	}
	x.warn(advice)
	if x.summary != nil {
		x.summary.SetResume(x.howToResume(run.WorkflowID) + ". The cause: " + advice)
	}
}

// keyAdvice is what to do about the credentials of a run that failed for want of
// any; "" for all other runs.
func keyAdvice(run *state.Run, given bool) string {
	refused := false
	for _, a := range run.Agents {
		refused = refused || a.Fault != nil && strings.HasPrefix(a.Fault.Message, "authentication: ")
	}
	switch {
	case !refused:
		return ""
	case given:
		return "the API refused the credentials: check the secret that is given as anthropic-api-key or claude-code-oauth-token"
	}
	return "agents had no credentials: the inputs anthropic-api-key and claude-code-oauth-token are empty; " +
		"set the secret that the workflow file names (events from forks get none)"
}
