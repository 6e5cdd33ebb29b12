package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// keyAdvice says what to do when agents could not log in, which the agent CLI
// words for somebody at a terminal.
func (x *action) keyAdvice(run *state.Run) string {
	return keyAdvice(run, x.in.AnthropicAPIKey != "" || x.in.ClaudeCodeToken != "")
}

// keyAdvice is what to do about the credentials of a run that failed for want of
// any; "" for all other runs.
func keyAdvice(run *state.Run, given bool) string {
	refused := false
	for _, a := range run.Agents {
		refused = refused || a.Failure != nil && strings.HasPrefix(a.Failure.Message, "authentication: ")
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

// needKey refuses to start a workflow whose agents are sure to have no credentials.
// That is so on a runner of GitHub's, which nobody has logged in on, unless a step
// before has made settings for the agent CLI.
func (x *action) needKey() error {
	given := x.in.AnthropicAPIKey != "" || x.in.ClaudeCodeToken != "" || job.HasProvider(x.app.Environ)
	if given || x.app.Getenv("RUNNER_ENVIRONMENT") != "github-hosted" || !x.scope.reachesPrompt() || x.mayLogIn() {
		return nil
	}
	return problem.Usage("inputs anthropic-api-key and claude-code-oauth-token", "both are empty, and the workflow has prompts",
		"set the secret that the workflow file names (events from forks get none), or the variables of Bedrock, Vertex or a gateway")
}

// reachesPrompt reports whether the entry leads to a prompt.
func (s *scope) reachesPrompt() bool {
	return slices.ContainsFunc(s.workflow.Reachable(), func(name string) bool {
		st, ok := s.workflow.State(name)
		return ok && st.Kind == protocol.Prompt
	})
}

// mayLogIn reports whether the agent CLI may have credentials that are not ours to
// see: files of its own, or variables that the job names for it.
func (x *action) mayLogIn() bool {
	for _, name := range x.in.Env {
		if strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "AWS_") {
			return true
		}
	}
	home := cmp.Or(x.app.Getenv("HOME"), x.app.Getenv("USERPROFILE"))
	dir := cmp.Or(x.app.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	for _, file := range []string{filepath.Join(dir, ".credentials.json"), filepath.Join(dir, "settings.json"), filepath.Join(home, ".claude.json")} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return slices.ContainsFunc(x.flags(), func(arg string) bool { return strings.Contains(arg, "--settings") })
}
