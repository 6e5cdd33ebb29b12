package sitetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

// Seen returns the conversation of the last request whose prompt begins so.
func Seen(t testing.TB, api *claudetest.Server, prompt string) string {
	t.Helper()
	for _, q := range slices.Backward(api.Requests()) {
		if strings.HasPrefix(strings.TrimSpace(q.Prompt), prompt) {
			return q.Conversation()
		}
	}
	t.Errorf("requests with a prompt %q: got none, want one", prompt)
	return ""
}

// Spoken is a conversation as Seen returns it: prompts and answers in turn.
func Spoken(turns ...string) string {
	var b strings.Builder
	for i, text := range turns {
		fmt.Fprintf(&b, "%s: %s\n", []string{"user", "assistant"}[i%2], text)
	}
	return b.String()
}

// InterruptionNote is what the agent is told after an interruption.
var InterruptionNote = regexp.MustCompile(`\n\nNote: an earlier try [^\n]*`)

// CLIVariables are the variables of a job whose agent CLI is the real one and talks to
// api alone.
func CLIVariables(api *claudetest.Server) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": api.URL, "NO_PROXY": "*", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_TELEMETRY": "1", "DISABLE_UPDATES": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
	}
}

// CLIEnv is which of CLIVariables a step must name in its input env.
const CLIEnv = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_TELEMETRY DISABLE_UPDATES CLAUDE_CODE_MAX_RETRIES"
