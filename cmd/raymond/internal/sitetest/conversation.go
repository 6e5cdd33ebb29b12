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
