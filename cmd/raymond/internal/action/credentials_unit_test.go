package action

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/state"
)

// TestKeyAdviceIsForMissingCredentials checks that only a run that failed because of missing or
// refused credentials gets advice about them.
func TestKeyAdviceIsForMissingCredentials(t *testing.T) {
	for _, tt := range []struct {
		backend string
		fault   string
		given   string // input
		want    string
	}{
		{"claude", "authentication: Not logged in · Please run /login", "openai-api-key", "the inputs anthropic-api-key and claude-code-oauth-token are empty"},
		{"claude", "authentication: the API refused the credentials with status 401", "claude-code-oauth-token", "refused the credentials: check the secret passed as anthropic-api-key or"},
		{"codex", "authentication: no", "anthropic-api-key", "the input openai-api-key is empty"},
		{"gemini", "authentication: no", "gemini-api-key", "check the secret passed as gemini-api-key"},
		{"command", "authentication: no", "", ""},
		{"claude", "exit code 1: authentication: no", "", ""},
		{"claude", "", "", ""},
	} {
		run := &state.Run{Agents: []*state.Agent{{ID: "main"}, {ID: "main_a"}}, Options: state.Options{Backend: tt.backend}}
		if tt.fault != "" {
			run.Agents[1].Failure = &state.AgentFailure{Message: tt.fault}
		}
		given := job.Settings{ModelKeys: map[string]string{tt.given: "k"}}
		if got := keyAdvice(run, given, nil); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("advice on %q, key given as %q: got %q, want %q in it", tt.fault, tt.given, got, tt.want)
		}
	}
}
