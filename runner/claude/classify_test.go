package claude

import (
	"fmt"
	"testing"

	"github.com/raymond-action/raymond-action/runner"
	"gotest.tools/v3/assert"
)

// TestErrorClasses checks the classes of errors: which are retried, which are waited for, and which end
// the agent. It covers errors that the recorded streams don't contain. The texts come from the CLI or,
// if it could not reach the API, from the key proxy.
func TestErrorClasses(t *testing.T) {
	for _, c := range []struct {
		status     string
		kind, text string
		want       runner.Class
	}{
		{"503", "", "", runner.Service},
		{"null", "overloaded", "API Error: Repeated 529 Overloaded errors.", runner.Service},
		{"null", "server_error", "API Error: Unable to connect to API (ConnectionRefused)", runner.Service},
		{"502", "server_error", "API Error: 502 reach the API at api.anthropic.com: dial tcp 1.2.3.4:443: connect: connection refused", runner.Service},
		{"502", "server_error", "API Error: 502 reach the API at x: dial tcp: lookup x: no such host", runner.Transient},
		{"null", "unknown", "API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)", runner.Transient},
		{"null", "unknown", "something else", runner.Transient},
		{"409", "", "API Error: 409 conflict", runner.Transient},
		{"400", "invalid_request", "API Error: 400 bad", runner.Fatal},
		{"429", "rate_limit", "API Error: Extra usage is required for long context requests.", runner.Fatal},
	} {
		_, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`,
			fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"model":"<synthetic>","content":[]}}`, c.kind),
			fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%s,"result":%q,"total_cost_usd":0}`, c.status, c.text))
		assert.Check(t, f != nil && f.Class == c.want, "status %s, %q, %q: got %v, want class %s", c.status, c.kind, c.text, f, c.want)
	}
}
