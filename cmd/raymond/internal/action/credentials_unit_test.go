package action

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestKeyAdviceIsForTheWantOfAKey: whoever forgot the secret is told so, and nobody
// else.
func TestKeyAdviceIsForTheWantOfAKey(t *testing.T) {
	for _, tt := range []struct {
		fault string
		given bool
		want  string
	}{
		{"authentication: Not logged in · Please run /login", false, "anthropic-api-key and claude-code-oauth-token are empty"},
		{"authentication: the API refused the credentials with status 401", true, "refused the credentials: check the secret"},
		{"exit code 1: authentication: no", false, ""},
		{"", false, ""},
	} {
		run := &state.Run{Agents: []*state.Agent{{ID: "main"}, {ID: "main_a"}}}
		if tt.fault != "" {
			run.Agents[1].Failure = &state.AgentFailure{Message: tt.fault}
		}
		if got := keyAdvice(run, tt.given); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("advice on %q, key given: %v: got %q, want %q in it", tt.fault, tt.given, got, tt.want)
		}
	}
}
