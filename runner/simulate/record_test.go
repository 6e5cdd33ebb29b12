package simulate_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// conversation returns the messages of a conversation in which the model answered with each of the
// texts.
func conversation(texts ...string) []runner.Message {
	var all []runner.Message
	for _, text := range texts {
		all = append(all, runner.Message{From: runner.FromUser, Text: "?"}, runner.Message{From: runner.FromAgent, Text: "I begin."},
			runner.Message{From: runner.FromTool, Tool: "Read"}, runner.Message{From: runner.FromAgent, Text: text, Subagent: ""},
			runner.Message{From: runner.FromAgent, Text: "a subagent's", Subagent: "s"})
	}
	return all
}

// wantReplies is the replies file that TestRecord expects.
const wantReplies = `meta:
  k: v
states:
  A.md:
    - text: <goto>B.md</goto>
      cost: 1
  B.md:
    - text: <goto>C.sh</goto>
      checks:
        - 1
        - 0
    - text: <goto>C.sh</goto>
      checks:
        - 0
        - 0
  D.md:
    - {}
  F.md:
    - text: <result>all done</result>
answers:
  - yes
  - no
expect:
  status: completed
  result: all done
  path:
    - A.md
    - B.md
    - C.sh
    - D.md
    - F.md
`

// TestRecord checks that Record returns a reply for each attempt of each execution, with the last
// text of its conversation. There must be no reply for work that was repeated.
func TestRecord(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	to := func(tag, target string) *state.Transition { return &state.Transition{Tag: tag, Target: target} }
	question := func(n int, by, answer string) report.Wait {
		return report.Wait{Agent: "main", By: by, Answer: answer, AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: n}}
	}
	r := &insight.Report{
		Status: "completed", Result: "all done", Meta: map[string]string{"k": "v"},
		Agents: []report.Agent{{ID: "main", Result: "all done"}},
		Waits: []report.Wait{
			question(2, "b", "no"), question(1, "a", "yes"), question(3, "timeout", ""), {Agent: "main", AgentWaits: state.AgentWaits{For: state.ForTime}},
		},
		Executions: []report.Exec{
			{N: 1, Agent: "main", State: "A.md", Kind: "prompt", Status: report.Failed, Error: "it ends with code 3"},
			{N: 2, Agent: "main", State: "A.md", Kind: "prompt", Status: report.Completed, Transition: to("goto", "B.md"), Messages: conversation("hm", "<goto>B.md</goto>"),
				Spent: report.Spent{Spent: state.Spent{USD: state.Dollar}}, Retries: []report.TimedNote{{Time: at, Text: "it died"}}, Reminders: []report.TimedNote{{Time: at.Add(1)}}},
			{N: 3, Agent: "main", State: "B.md", Kind: "prompt", Status: report.Completed, Transition: to("goto", "C.sh"), Messages: conversation("<goto>C.sh</goto>"),
				Attempts: []report.Attempt{
					{Ended: at, NodeAttempt: state.NodeAttempt{Results: []state.CommandResult{{RC: 1}, {RC: 0}}}},
					{Ended: at.Add(1), NodeAttempt: state.NodeAttempt{Converged: true, Results: []state.CommandResult{{RC: 0}, {RC: 0}}}},
				}},
			{N: 4, Agent: "main", State: "C.sh", Kind: "script", Status: report.Completed, Transition: to("goto", "D.md")},
			{N: 5, Agent: "main", State: "D.md", Kind: "prompt", Status: report.Completed, Transition: to("fork", "E.md")},
			{N: 6, Agent: "main", State: "F.md", Kind: "prompt", Status: report.Completed, Transition: to("result", "")},
		},
	}
	replies, unknown := simulate.Record(r)
	assert.Check(t, is.DeepEqual(unknown, []string{"D.md"}), "unknown replies: want those of D.md")
	assert.Check(t, is.Equal(writeReplies(t, replies), wantReplies))
}
