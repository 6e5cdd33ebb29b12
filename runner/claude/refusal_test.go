package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/runner"
)

// TestRefusalsAreExplained holds that a refused use of a tool comes with the CLI's
// own reason, from the record that newer versions write or from the tool's result,
// and with the rules that would let it pass; and that no secret is told.
func TestRefusalsAreExplained(t *testing.T) {
	o := runner.Order{
		Dir: "/w",
		Hide: func(s string) string {
			return strings.ReplaceAll(s, "hunter2", "***")
		},
		Prompt: runner.PromptOrder{SessionID: chosen, Permissions: runner.Permissions{AllowedTools: []string{"Bash(npm ci)"}}},
	}
	a, f := answerOf(o, start,
		`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t1","message":"This command requires approval"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"This Bash command contains multiple operations. `+
			`The following part requires approval: npm test"},{"type":"tool_result","tool_use_id":"t9","is_error":true,"content":[{"type":"text","text":"no such file"}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":[{"type":"text","text":"cd in '/' was blocked."}]}]}}`,
		hello, strings.TrimSuffix(goodbye, "}")+`,"permission_denials":[`+
			`{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make -C sub"}},`+
			`{"tool_name":"Bash","tool_use_id":"t2","tool_input":{"command":"npm ci && npm test"}},`+
			`{"tool_name":"Bash","tool_use_id":"t3","tool_input":{"command":"cd / && ls"}},`+
			`{"tool_name":"Bash","tool_use_id":"t4","tool_input":{"command":"login hunter2"}}]}`)
	if f != nil {
		t.Fatal(f)
	}
	want := []runner.Refusal{
		{Use: "Bash(make -C sub)", Reason: "This command requires approval", Allow: []string{"Bash(make -C sub)"}},
		{Use: "Bash(npm ci && npm test)", Reason: "This Bash command contains multiple operations. The following part requires approval: npm test",
			Allow: []string{"Bash(npm test:*)"}},
		{Use: "Bash(cd / && ls)", Reason: "cd in '/' was blocked."},
		{Use: "Bash(login ***)"},
	}
	if d := cmp.Diff(want, a.Refusals); d != "" {
		t.Errorf("refusals (-want +got):\n%s", d)
	}
	if len(a.Denied) != len(want) || a.Denied[0] != want[0].Use {
		t.Errorf("denied: got %q, want the uses of the refusals", a.Denied)
	}
}

// TestUnexpectedTypesCostTheirFieldAlone: a record of a type that nobody knew, or one
// of whose fields is not what it was, is a record all the same; what matters in it
// counts.
func TestUnexpectedTypesCostTheirFieldAlone(t *testing.T) {
	odd := []string{
		`{"type":"system","subtype":"permission_denied","message":"a text"}`,
		`{"type":"news","message":["a","list"],"model":{"name":"m"},"error_status":"500","attempt":1.5}`,
		`{"type":"system","subtype":"api_retry","error_status":"401","attempt":{}}`,
		`{"type":"rate_limit_event","rate_limit_info":"none"}`,
		`{"type":"system","subtype":{"deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`,
		`{"type":"user","message":{"content":["text",{"type":7,"is_error":"x"}]}}`,
	}
	text := `{"type":"assistant","error":{"a":1},"message":{"id":7,"usage":[],"content":[7,{"type":"text","text":"hello"},{"type":"text","text":null}]}}`
	done := strings.TrimSuffix(goodbye, "}") + `,"errors":"none","num_turns":"3","permission_denials":[7,{"tool_name":5},{"tool_name":"Read","tool_input":"x"}],` +
		`"api_error_status":{"a":1},"terminal_reason":5}`
	a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, append(append([]string{start}, odd...), text, done)...)
	if f != nil || a.Text != "hello" || len(a.Notes) > 0 || costText(a.Cost) != "exact 0.5" {
		t.Errorf("got %q, %v, notes %q, cost %s, want hello, no notes, $0.5", a.Text, f, a.Notes, costText(a.Cost))
	}
	if len(a.Denied) != 3 || a.Denied[2] != `Read("x")` {
		t.Errorf("denied: got %q, want three, the last of them Read", a.Denied)
	}
	for _, bad := range []string{`"yes"`, `1`, `{}`} {
		if _, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, text, strings.TrimSuffix(goodbye, "}")+`,"is_error":`+bad+`}`); f == nil {
			t.Errorf("is_error %s: got a good answer, want a failure", bad)
		}
	}
}
