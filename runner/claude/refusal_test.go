package claude

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestRefusalsAreExplained checks that a denied tool call is reported with the CLI's own reason, but
// without secrets. Newer versions print the reason as a record, older ones as the tool's result. If a
// rule is missing, plain rules must be suggested.
func TestRefusalsAreExplained(t *testing.T) {
	o := runner.Order{
		Dir: "/w",
		Hide: func(s string) string {
			return strings.ReplaceAll(s, "hunter2", "***")
		},
		Prompt: runner.PromptOrder{SessionID: chosen, Permissions: runner.Permissions{AllowedTools: []string{"Bash(npm ci:*)"}}},
	}
	a, f := answerOf(o, start,
		`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1","message":"This command requires approval"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"This Bash command contains multiple operations. `+
			`The following parts require approval: npm ci, npm test"},{"type":"tool_result","tool_use_id":"t9","is_error":true,"content":[{"type":"text","text":"no such file"}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":[{"type":"text","text":"cd in '/' was blocked."}]}]}}`,
		hello, strings.TrimSuffix(goodbye, "}")+`,"permission_denials":[`+
			`{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make -C sub"}},`+
			`{"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"npm ci && npm test"}},`+
			`{"tool_name":"Bash","tool_use_id":"t3","tool_input":{"command":"cd / && ls"}},`+
			`{"tool_name":"Bash","tool_use_id":"t4","tool_input":{"command":"login hunter2"}}]}`)
	assert.Assert(t, is.Nil(f))
	want := []runner.Refusal{
		{Use: "Bash(make -C sub)", Reason: "This command requires approval", Allow: []string{"Bash(make:*)"}},
		{Use: "Bash(npm ci && npm test)", Reason: "This Bash command contains multiple operations. The following parts require approval: npm ci, npm test",
			Allow: []string{"Bash(npm test:*)"}},
		{Use: "Bash(cd / && ls)", Reason: "cd in '/' was blocked."},
		{Use: "Bash(login ***)"},
	}
	assert.Check(t, is.DeepEqual(a.Refusals, want), "refusals")
}
