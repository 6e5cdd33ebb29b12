package claude

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
)

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
