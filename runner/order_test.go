package runner

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestOnlyScriptsGetByAndVisits checks that only scripts get the variables RAYMOND_BY and
// RAYMOND_VISITS, which contain where the agent came from and how often it has visited the state.
func TestOnlyScriptsGetByAndVisits(t *testing.T) {
	for _, c := range []struct {
		kind    protocol.Kind
		backend string
		want    bool
	}{{protocol.Script, "", true}, {protocol.Prompt, protocol.BackendClaude, false}, {protocol.Prompt, protocol.BackendCommand, false}} {
		a := &state.Agent{
			ID: "main", State: "S", By: "agent A.md", Visits: map[string]int{"S": 3, "A.md": 7}, Exec: &state.Exec{Running: &state.Invocation{Backend: c.backend}},
		}
		x := invocation{cfg: &Config{}, run: &state.Run{}, agent: a, state: &protocol.State{Kind: c.kind}}
		env := x.environ(ScriptOrder{})
		for _, v := range []string{"RAYMOND_BY=agent A.md", "RAYMOND_VISITS=3"} {
			assert.Check(t, is.Equal(slices.Contains(env, v), c.want), "%s %s: got %q in %v %t, want %t", c.kind, c.backend, v, env, !c.want, c.want)
		}
	}
}

// TestLargeValuesAreFiles checks that scripts get a value in a file if it is too large for a
// variable or contains NUL.
func TestLargeValuesAreFiles(t *testing.T) {
	fits, large := strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10+1)
	a := &state.Agent{ID: "main", Payload: state.Text(large), Exec: &state.Exec{Running: &state.Invocation{}}, Vars: map[string]string{"fits": fits, "a-b": large}}
	x := invocation{cfg: &Config{}, run: &state.Run{Meta: map[string]string{"nul": "\x00"}}, agent: a, state: &protocol.State{Kind: protocol.Script}}
	s := ScriptOrder{PayloadFile: "/p/1", Files: map[string]string{}}
	env := x.environ(s)
	for _, want := range []string{"RAYMOND_VAR_FITS=" + fits, "RAYMOND_VAR_A_B_FILE=/p/1-A_B", "RAYMOND_VAR_NUL_FILE=/p/1-NUL"} {
		assert.Check(t, slices.Contains(env, want), "%.80s", want)
	}
	assert.Check(t, is.DeepEqual(s.Files, map[string]string{"/p/1-A_B": large, "/p/1-NUL": "\x00"}))
	for _, kv := range env {
		assert.Check(t, len(kv) < 128<<10 && !strings.Contains(kv, "\x00"), "%.80s", kv)
	}
}

// TestStateNeverGetsMoreThanRun checks that a state's own permission mode applies only if it allows
// no more than the run's mode.
func TestStateNeverGetsMoreThanRun(t *testing.T) {
	for _, tt := range []struct{ own, run, want string }{
		{"", "acceptEdits", "acceptEdits"},
		{"plan", "acceptEdits", "plan"},
		{"auto", "acceptEdits", "acceptEdits"},
		{"bypassPermissions", "default", "default"},
		{"dontAsk", "default", "dontAsk"},
		{"acceptEdits", "bypassPermissions", "acceptEdits"},
		{"default", "dontAsk", "default"},
		{"acceptEdits", "dontAsk", "dontAsk"},
		{"auto", "auto", "auto"},
		{"bypassPermissions", "auto", "auto"},
	} {
		assert.Check(t, is.Equal(permission(tt.own, tt.run), tt.want), "permission(%q, %q)", tt.own, tt.run)
	}
}

// TestAllowedToolsOfRunAndState checks which tools a state may use, given its own list and the run's.
func TestAllowedToolsOfRunAndState(t *testing.T) {
	for _, tt := range []struct{ own, run, want []string }{
		{nil, []string{"Edit"}, []string{"Edit"}},
		{[]string{"Bash(go test:*)", "Edit"}, nil, []string{"Bash(go test:*)", "Edit"}},
		{[]string{"Bash(go test:*)", "Edit", "Write"}, []string{"Bash", "Write"}, []string{"Bash(go test:*)", "Write"}},
		{[]string{"Bash"}, []string{"Bash(git:*)"}, nil},
		{[]string{}, []string{"Edit"}, nil},
	} {
		got := allowed(tt.own, tt.run)
		assert.Check(t, is.DeepEqual(got, tt.want), "allowed(%q, %q) = %q", tt.own, tt.run, got)
	}
}

// promptOf returns an invocation of a state with the text body and with done_when.
func promptOf(body, context string, e state.Exec) invocation {
	return invocation{
		run: &state.Run{WorkflowID: "run-1", Meta: map[string]string{"who": "meta"}},
		agent: &state.Agent{
			ID: "main", State: "A.md", Payload: "payload", Exec: &e, Vars: map[string]string{"failure": "none", "attempt": "7", "max_attempts": "8"},
		},
		state: &protocol.State{Name: "A.md", Body: body, Policy: protocol.Policy{Convergence: &protocol.Convergence{MaxAttempts: 4, AttemptContext: context}}},
	}
}

// TestFeedback checks that the second attempt gets the report about the first one, in place of
// {{failure}} or after the text. A variable of a fork that is named failure doesn't change that.
// The first attempt gets no report.
func TestFeedback(t *testing.T) {
	verdict := &state.NodeAttempt{Attempt: 1, Reason: "done_when_failed", Results: []state.CommandResult{{Cmd: "printf '%s' {{who}}", RC: 3, Tail: "its tail"}}}
	report := verdict.Report(4)
	for _, part := range []string{"Attempt 1 of 4", "Command: printf '%s' {{who}}\nExit code: 3\n", "```\nits tail\n```"} {
		assert.Check(t, is.Contains(report, part), "report")
	}
	for body, want := range map[string][2]string{
		"{{attempt}}/{{ max_attempts }} [{{failure}}] end":         {"1/4 [] end", "2/4 [" + report + "] end"},
		"no template but {{input}}, {{who}}":                       {"no template but payload, meta", "no template but payload, meta\n\n" + report},
		"{{failure}} and again {{failure}}, {{failures}}":          {" and again , {{failures}}", report + " and again " + report + ", {{failures}}"},
		"/slash {{state}} {{agent_id}} {{workflow_id}} {{result}}": {"\n/slash A.md main run-1 payload", "\n/slash A.md main run-1 payload\n\n" + report},
	} {
		invocation := &state.Invocation{Mode: state.Fresh}
		got := [2]string{
			promptOf(body, "entry", state.Exec{Attempt: 1, Running: invocation}).text(),
			promptOf(body, "entry", state.Exec{Attempt: 2, Running: invocation, Verdict: verdict}).text(),
		}
		assert.Check(t, is.Equal(got, want), "%q", body)
	}
}

// TestContinuedConversationGetsWhatItLacks checks that a continued conversation gets only new text,
// and that a new conversation gets everything.
func TestContinuedConversationGetsWhatItLacks(t *testing.T) {
	verdict := &state.NodeAttempt{Attempt: 1, Reason: "done_when_failed"}
	fresh, resumed := &state.Invocation{Mode: state.Fresh}, &state.Invocation{Mode: state.Resume}
	for name, c := range map[string]struct {
		exec  state.Exec
		begin string
		has   string
	}{
		"a reminder":                          {state.Exec{Reminder: "again", Running: resumed}, "again", ""},
		"a reminder in a new conversation":    {state.Exec{Reminder: "again", Running: fresh}, "work\n\nagain", ""},
		"a reminder when the work is done":    {state.Exec{Reminder: "again", Running: fresh, PassedResults: []state.CommandResult{{}}}, "work\n\n", "do not do it again"},
		"a continued attempt":                 {state.Exec{Attempt: 2, Verdict: verdict, Running: resumed}, verdict.Report(4), ""},
		"a fresh attempt":                     {state.Exec{Attempt: 2, Verdict: verdict, Running: fresh}, "work\n\n" + verdict.Report(4), ""},
		"an early end":                        {state.Exec{Continue: true, Running: resumed}, "The last run of this step ended early", ""},
		"an early end, in a new conversation": {state.Exec{Continue: true, Running: fresh}, "work\n\n", "ended early"},
		"an interruption":                     {state.Exec{Attempt: 1, WasInterrupted: true, Running: fresh}, "work\n\n", "was interrupted"},
	} {
		if got := promptOf("work", "continue", c.exec).text(); !strings.HasPrefix(got, c.begin) || !strings.Contains(got, c.has) {
			t.Errorf("%s: got %q, want it to begin with %q and have %q", name, got, c.begin, c.has)
		}
	}
}
