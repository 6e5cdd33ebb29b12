package runner

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

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
