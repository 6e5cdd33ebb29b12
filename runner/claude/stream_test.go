package claude

import (
	"fmt"
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
