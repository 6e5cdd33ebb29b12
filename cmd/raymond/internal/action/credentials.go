package action

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// keyAdvice is what to do about the credentials of a run that failed for want of
// any, which the agent CLI words for somebody at a terminal; "" for all other runs.
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

// checkCredentials refuses to start a workflow whose agents are sure to have no credentials.
// That is so on a runner of GitHub's, which nobody has logged in on, unless a step
// before has made settings for the agent CLI.
func checkCredentials(s *step, f *scope.Scope) error {
	given := s.in.AnthropicAPIKey != "" || s.in.ClaudeCodeToken != "" || job.HasProvider(s.env.Environ)
	if given || s.getenv("RUNNER_ENVIRONMENT") != "github-hosted" || !mayPrompt(s, f) || mayLogIn(s) {
		return nil
	}
	return problem.Usage("inputs anthropic-api-key and claude-code-oauth-token", "both are empty, and the workflow has prompts",
		"set the secret that the workflow file names (events from forks get none), or the variables of Bedrock, Vertex or a gateway")
}

// mayPrompt reports whether the entry leads to a prompt that this step would run.
func mayPrompt(s *step, f *scope.Scope) bool {
	return !s.in.NoPrompts && slices.ContainsFunc(f.Workflow.Reachable(), func(name string) bool {
		st, ok := f.Workflow.State(name)
		isHere := s.options.Jobs == nil || slices.Contains(s.options.Jobs, f.Workflow.JobOf(name))
		return ok && st.Kind == protocol.Prompt && isHere
	})
}

// mayLogIn reports whether the agent CLI may have credentials that are not ours to
// see: files of its own, or variables that the job names for it.
func mayLogIn(s *step) bool {
	for _, name := range s.in.Env {
		if strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "AWS_") {
			return true
		}
	}
	home := cmp.Or(s.getenv("HOME"), s.getenv("USERPROFILE"))
	dir := cmp.Or(s.getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	for _, file := range []string{filepath.Join(dir, ".credentials.json"), filepath.Join(dir, "settings.json"), filepath.Join(home, ".claude.json")} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return slices.ContainsFunc(job.Arguments(s.getenv), func(arg string) bool { return strings.Contains(arg, "--settings") })
}
