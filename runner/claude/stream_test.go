package claude

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// chosen is the session id in the orders of these tests.
const chosen = "11111111-1111-4111-8111-111111111111"

// TestRecordedStreams checks the results for outputs that were recorded from the real CLI and shortened.
func TestRecordedStreams(t *testing.T) {
	clitest.Replay(t, func(_ *testing.T, c clitest.Recording) (got clitest.Result) {
		s := newStream(runner.Order{Prompt: runner.PromptOrder{Session: c.Mode, SessionID: chosen}}, nil)
		s.Write(c.Stdout)
		s.Flush()
		got.Answer, got.Failure = s.answer(c.Exit)
		return got
	})
}

// answerOf writes lines to a stream and returns the result for exit code 0.
func answerOf(o runner.Order, lines ...string) (runner.Answer, *runner.Failure) {
	s := newStream(o, nil)
	s.Write([]byte(strings.Join(lines, "\n")))
	s.Flush()
	return s.answer(proc.Exit{})
}

const (
	hello   = `{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}`
	start   = `{"type":"system","subtype":"init","session_id":"` + chosen + `","model":"m"}`
	goodbye = `{"type":"result","subtype":"success","stop_reason":"end_turn","total_cost_usd":0.5,"session_id":"` + chosen + `"}`
)

// TestMalformedResults checks which mistakes in a result record are tolerated, and which cause a failure.
func TestMalformedResults(t *testing.T) {
	tests := []struct{ name, fields, wantCost, wantFail string }{
		{"null stop reason", `"stop_reason":null,"total_cost_usd":0`, "not told", "transient: no complete answer: the stream broke off"},
		{"null stop reason, some cost", `"stop_reason":null,"total_cost_usd":1`, "estimated 1", "transient: no complete answer: the stream broke off"},
		{"cost as a string", `"total_cost_usd":"0.25"`, "not told", ""},
		{"negative cost", `"total_cost_usd":-1`, "not told", ""},
		{"null cost", `"total_cost_usd":null`, "not told", ""},
		{"cost beyond reason", `"total_cost_usd":1e12`, "exact 1000000000", ""},
		{"tiny cost", `"total_cost_usd":1e-7`, "exact 0.0000001", ""},
		{"names twice", `"total_cost_usd":1,"total_cost_usd":2`, "exact 2", ""},
		{"unknown subtype of error", `"is_error":true,"errors":["x\ny"]`, "not told", "transient: the agent CLI reports: x y"},
	}
	for _, tt := range tests {
		a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, hello, `{"type":"result","subtype":"success",`+tt.fields+`}`)
		fail := ""
		if f != nil {
			fail = string(f.Class) + ": " + f.Message
		}
		if got := clitest.CostText(a.Cost); got != tt.wantCost || fail != tt.wantFail || a.Text != "hello" {
			t.Errorf("%s (%s): got %q, cost %s, failure %q, want \"hello\", %s, %q",
				tt.name, tt.fields, a.Text, got, fail, tt.wantCost, tt.wantFail)
		}
	}
}

// TestInputsDiscardEarlierText checks that an input to the model discards the text before it. Two kinds
// of input must not do that: inputs to a subagent, and inputs that ask for the rest of a message that
// reached the output limit.
func TestInputsDiscardEarlierText(t *testing.T) {
	const cut, input = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}}`, `{"type":"user","message":{"content":"go on"}}`
	ofSubagent := strings.NewReplacer(`{"type":"stream`, `{"parent_tool_use_id":"x","type":"stream`, `{"type":"user`, `{"parent_tool_use_id":"x","type":"user`)
	for records, isFinal := range map[string]bool{
		cut + "\n" + input: true, strings.Replace(cut, "max_tokens", "model_context_window_exceeded", 1) + "\n" + input: true,
		strings.Replace(input, "go on", "Output token limit hit.", 1): true, ofSubagent.Replace(input): true, ofSubagent.Replace(cut) + "\n" + input: false,
		cut + "\n" + strings.Replace(input, `"go on"`, `[{"type":"tool_result","tool_use_id":"x"}]`, 1): false,
	} {
		a, f := answerOf(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}}, start, hello, records, hello, goodbye)
		assert.Check(t, f == nil && a.Text == map[bool]string{true: "hello"}[isFinal]+"hello", "%s: got %q, %v", records, a.Text, f)
	}
}

// TestOtherSessionsAreRejected checks that an answer from another conversation is never accepted, and
// that the CLI is then ended immediately.
func TestOtherSessionsAreRejected(t *testing.T) {
	other := "22222222-2222-4222-8222-222222222222"
	tests := []struct {
		// mode is how the session with the id in chosen begins. A branch begins as a copy of the session other.
		mode     state.SessionMode
		got      string
		wantFail string
		wantNote bool
	}{
		{state.Fresh, chosen, "", false}, {state.Fresh, other, "", true},
		{state.Resume, chosen, "", false}, {state.Resume, other, "replaced", false},
		{state.Branch, chosen, "", false}, {state.Branch, other, "not branched", false}, {state.Branch, "3", "", true},
	}
	for _, tt := range tests {
		ended := false
		o := runner.PromptOrder{Session: tt.mode, SessionID: chosen}
		if tt.mode == state.Branch {
			o.From = other
		}
		s := newStream(runner.Order{Prompt: o}, nil)
		s.Abort = func(error) { ended = true }
		for _, line := range []string{start, hello, goodbye} {
			s.Write([]byte(strings.ReplaceAll(line, chosen, tt.got) + "\n"))
		}
		a, f := s.answer(proc.Exit{})
		bad := f != nil && f.Class == runner.Fatal && strings.Contains(f.Message, tt.wantFail)
		if (f != nil || tt.wantFail != "") && !bad || ended != bad || (len(a.Notes) > 0) != tt.wantNote || a.SessionID != tt.got {
			t.Errorf("%s of %s answered by %s: got %+v, %v, ended %v, want failure %q, note %v",
				tt.mode, chosen, tt.got, a, f, ended, tt.wantFail, tt.wantNote)
		}
	}
}

// FuzzStream checks that any output results in an answer or in a failure with a message. The message and
// all reported texts must be single lines.
func FuzzStream(f *testing.F) {
	f.Add([]byte(start + "\n" + hello + "\n" + goodbye))
	f.Add([]byte(`{"type":"assistant","message":{"content":"x"}}` + "\n" + `{"type":"result","modelUsage":[]}`))
	f.Add([]byte(`{"type":"rate_limit_event","rate_limit_info":{"resetsAt":1e99,"status":"rejected"}}`))
	f.Add([]byte(`{"type":"result","subtype":"success","permission_denials":[{"tool_name":"\u0000","tool_input":5}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var told []string
		s := newStream(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Verbosity: runner.VerbosityFull}, func(p runner.Progress) { told = append(told, p.Text) })
		s.Write(data)
		s.Flush()
		a, fail := s.answer(proc.Exit{})
		switch {
		case fail == nil && (s.final == nil || len(a.Text) > len(data)), fail != nil && fail.Message == "", a.Cost.USD < 0:
			t.Errorf("stream %q: got %+v, %v", data, a, fail)
		case fail != nil:
			told = append(told, fail.Message)
		}
		assert.Check(t, !strings.ContainsAny(strings.Join(told, ""), "\r\n"), "stream %q: got %q, want lines", data, told)
	})
}

// TestInferenceProfiles checks that tokens that the CLI reports for an inference profile are subtracted
// from the counts of the API's models, although the names differ.
func TestInferenceProfiles(t *testing.T) {
	used := func(model string, tokens int64) state.Usage { return state.Usage{Model: model, Input: tokens} }
	counted := []keyproxy.Sum{{Usage: used("claude-haiku-4-5", 1)}, {Usage: used("claude-sonnet-5", 9)}}
	told := []state.ModelCost{{Usage: used("profile/a", 9)}, {Usage: used("profile/b", 1)}}
	assert.Assert(t, is.Len(keyproxy.Beyond(counted, assignUnnamed(told, counted), false), 0))
}

// TestUnusableToolsFailTheInvocation checks that the invocation fails if the CLI can't create a tool's
// files in its own directory, because the agent can't work then. If a command is denied access to a file
// there, the invocation must not fail.
func TestUnusableToolsFailTheInvocation(t *testing.T) {
	b := &Backend{CLI: program.CLI{Env: []string{"CLAUDE_CONFIG_DIR=/own"}}}
	assert.Check(t, is.DeepEqual(b.Needs().Write, []string{"/own/projects", "/own/session-env", "/own/tasks", "/own/plans"}))
	for said, want := range map[string]string{
		"EACCES: permission denied, mkdir '/own/session-env'":     "can't use its tools in the cage: EACCES: permission denied, mkdir '/own/session-env'; install it",
		"Exit code 1\ntouch: '/own/settings': Permission denied":  "",
		"EACCES: permission denied, open '/elsewhere/that/it/is'": "",
	} {
		s := b.newTurn(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Cage: cage.Unavailable(nil)}, func(runner.Progress) {})
		result := fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":%q}]}}`, said)
		s.Stream.Write([]byte(strings.Join([]string{start, result, hello, goodbye}, "\n")))
		s.Stream.Flush()
		_, f := s.Answer(proc.Exit{})
		assert.Check(t, (f != nil) == (want != "") && (f == nil || f.Class == runner.Machine && strings.Contains(f.Message, want)), "%s: got %v, want %q", said, f, want)
	}
}

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

// reported writes lines to a stream in chunks of size bytes and returns the progress reports.
func reported(o runner.Order, size int, lines ...string) []runner.Progress {
	var all []runner.Progress
	s := newStream(o, func(p runner.Progress) {
		if p.Metered == nil {
			all = append(all, p)
		}
	})
	for piece := range slices.Chunk([]byte(strings.Join(lines, "\n")), size) {
		s.Write(piece)
	}
	s.Flush()
	return all
}

// usesBash returns a message record with a call of the tool Bash.
func usesBash(id, command string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":%s,"name":"Bash","input":{"command":%q}}]}}`, id, command)
}

// resultOf returns a record with the result of a tool call.
func resultOf(id string) string {
	return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%s}]}}`, id)
}

// TestRunningToolsAreReported checks that a tool is shown as running from its start to its result. It
// includes several tools that run at the same time, and tools of subagents.
func TestRunningToolsAreReported(t *testing.T) {
	sub := strings.Replace(resultOf(`"c"`), `{"type":"user",`, `{"type":"user","parent_tool_use_id":"p",`, 1)
	got := reported(runner.Order{Prompt: runner.PromptOrder{SessionID: chosen}, Verbosity: runner.VerbosityBounded}, 7,
		start, hello, usesBash(`"a"`, "make"), usesBash(`"b"`, "ls"), resultOf(`"a"`), usesBash(`"c"`, "cat"), resultOf(`"x"`), resultOf(`"b"`), sub,
		`{"type":"system","subtype":"api_retry","error_status":529,"error":"overloaded","attempt":2}`, goodbye)
	want := []runner.Progress{
		{Activity: "waiting for the model"},
		{Text: "hello", Activity: "waiting for the model"},
		{Text: "Bash(make)", Activity: "running Bash(make)"},
		{Text: "Bash(ls)", Activity: "running Bash(make) and 1 more"},
		{Activity: "running Bash(ls)"},
		{Text: "Bash(cat)", Activity: "running Bash(ls) and 1 more"},
		{Activity: "running Bash(cat)"},
		{Activity: "waiting for the model"},
		{Text: "API error 529 (overloaded), attempt 2", Activity: "waiting to ask the API again"},
	}
	assert.Check(t, slices.Equal(got, want), "\n got %+v\nwant %+v", got, want)
}

// TestSecretsAreHiddenBeforeCutting checks that no reported text contains a part of a secret, wherever
// lines are split and texts are truncated.
func TestSecretsAreHiddenBeforeCutting(t *testing.T) {
	const secret = "sk-ant-0123456789 abcdef  ghijkl"
	o := runner.Order{
		Verbosity: runner.VerbosityFull,
		Hide: func(s string) string {
			return strings.ReplaceAll(s, secret, "***")
		},
		Prompt: runner.PromptOrder{SessionID: chosen},
	}
	pad := func(n int) string { return strings.Repeat("x", n) }
	for shift := range 40 {
		lines := []string{
			start, usesBash(`"a"`, pad(120-shift)+secret),
			fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":"%s %s"}]}}`, pad(2000-shift), secret),
			fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Odd","input":{"%s":"%s"}}]}}`, pad(120-shift), secret),
		}
		for _, p := range reported(o, 11, lines...) {
			for _, part := range []string{"sk-a", "0123", "abcd", "ghij"} {
				assert.Assert(t, !strings.Contains(p.Text+p.Activity, part), "%d before the cut: got %q in %q", shift, part, p.Text+"|"+p.Activity)
			}
		}
		denied := fmt.Sprintf(`{"type":"result","subtype":"success","total_cost_usd":0,"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"%s%s"}}]}`,
			pad(120-shift), secret)
		quiet := o
		quiet.Verbosity = runner.VerbosityNone
		a, _ := answerOf(quiet, start, hello, denied)
		assert.Assert(t, len(a.Refusals) == 1 && !strings.Contains(a.Refusals[0].Use, "sk-a"), "%d before the cut: refused: got %q, want it without a part of the secret", shift, a.Refusals)
		_, f := answerOf(quiet, start, fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["%s%s"]}`, pad(500-shift), secret))
		assert.Assert(t, f != nil && !strings.Contains(f.Message, "sk-a") && strings.Contains(f.Message, "xxx"), "%d before the cut: got the failure %v, want it without a part of the secret", shift, f)
	}
}
