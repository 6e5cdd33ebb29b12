package page

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// began is when the runs of the tests began.
var began = time.Date(2026, 3, 9, 9, 14, 3, 0, time.UTC)

// fixtures are the reports that pages are made of in tests, by name.
var fixtures = map[string]func() *insight.Report{
	"five": fiveStates, "failure": failureLate, "agents": func() *insight.Report { return manyAgents(1000) }, "hostile": hostile,
	"empty": func() *insight.Report { return &insight.Report{WorkflowID: "empty", Status: "running", Created: began} },
}

// story builds a report, one state execution after the other.
type story struct {
	*insight.Report
	now time.Time
}

func newStory(id string) *story {
	return &story{&insight.Report{
		WorkflowID: id, Scope: "examples/issue-to-pr", Entry: "PLAN.md", Created: began, BudgetUSD: 5 * state.Dollar,
		Parts: []report.Part{{Started: began}}, Agents: []report.Agent{{ID: "main", Status: "ended"}},
	}, began}
}

// ran adds a completed execution.
func (s *story) ran(name string, takes time.Duration, cents float64, to string) *report.Exec {
	e := report.Exec{
		N: len(s.Executions) + 1, Agent: "main", State: name, Kind: "prompt", Status: "completed", Started: s.now, Ended: s.now.Add(takes),
		Transition: &state.Transition{Tag: "goto", Target: to, From: name},
	}
	if strings.HasSuffix(name, ".sh") {
		e.Kind = "script"
	} else {
		e.Spent = report.Spent{Spent: state.Spent{USD: state.USD(cents * float64(state.Dollar) / 100)}, Tokens: &state.Tokens{Input: 8120, Cached: 91_400, Output: 2210}}
		e.Model, e.AgentCLI, e.Mode, e.SessionID, e.Turns = "claude-opus-5", "2.1.330 (/opt/claude)", "resume", "7c0d2a54-5be1-4c0e-9a7e-0f4e6c0a2f11", 9
		e.Cwd = "/home/ana/ledger"
	}
	if to == "" {
		e.Transition.Tag = "result"
	}
	s.Spent.USD = s.Spent.USD.Plus(e.Spent.USD)
	e.Total = s.Spent.USD
	s.now = e.Ended.Add(40 * time.Millisecond)
	s.Executions = append(s.Executions, e)
	return &s.Executions[len(s.Executions)-1]
}

// ends sets the sums.
func (s *story) ends(status string) *insight.Report {
	s.Status, s.Finished, s.Parts[len(s.Parts)-1].Ended = status, s.now, s.now
	s.Spent.Tokens = &state.Tokens{Input: 81_200, Cached: 914_000, Output: 22_100}
	byState := map[string]*report.Sum{}
	worked := int64(0)
	for _, e := range s.Executions {
		if e.Kind == "prompt" {
			worked += duration(e).Milliseconds()
		}
		if byState[e.State] == nil {
			byState[e.State] = &report.Sum{Name: e.State}
		}
		x := byState[e.State]
		x.Executions++
		x.DurationMS += duration(e).Milliseconds()
		x.Spent.USD = x.Spent.USD.Plus(e.Spent.USD)
	}
	for _, name := range sortedKeys(byState) {
		s.Costs.ByState = append(s.Costs.ByState, *byState[name])
	}
	slices.SortStableFunc(s.Costs.ByState, func(a, b report.Sum) int {
		return cmp.Or(cmp.Compare(b.Spent.USD, a.Spent.USD), cmp.Compare(b.DurationMS, a.DurationMS))
	})
	s.Costs.ByModel = []report.Sum{{Name: "claude-opus-5", Executions: len(s.Executions), DurationMS: worked, Spent: s.Spent}}
	return s.Report
}

func fiveStates() *insight.Report {
	s := newStory("issue-to-pr-issue-412-3fa2b1c0")
	plan := s.ran("PLAN.md", 74*time.Second, 21.4, "IMPLEMENT.md")
	plan.Mode = "fresh"
	plan.Messages = []runner.Message{
		{From: runner.FromUser, Time: began.Add(time.Second), Text: "Issue #412 says:\n\n> Totals are off by a cent.\n\nRead the code that rounds. Write a plan to PLAN.md."},
		{From: runner.FromAgent, Time: began.Add(4 * time.Second), Model: "claude-opus-5", Text: "I'll look at how amounts are rounded."},
		{From: runner.FromTool, Time: began.Add(5 * time.Second), Tool: "Grep", Input: `{"pattern":"Round\\(","path":"."}`, Text: "money/round.go:14:func Round(c Cents) Cents {\ninvoice/total.go:31:\tsum += money.Round(line.Amount())\ntax/vat.go:22:\treturn money.Round(v)\n"},
		{From: runner.FromTool, Time: began.Add(15 * time.Second), Tool: "Bash", Input: `{"command":"git log --oneline -5 -- money","description":"Who changed rounding"}`, Text: "permission denied by the rules of the state", Refused: true},
		{From: runner.FromTool, Subagent: "find callers", Time: began.Add(24 * time.Second), Tool: "Grep", Input: `{"pattern":"money.Round"}`, Text: "7 matches"},
		{From: runner.FromAgent, Subagent: "find callers", Time: began.Add(30 * time.Second), Text: "invoice, tax and report; report expects half to even."},
		{From: runner.FromAgent, Time: began.Add(72 * time.Second), Text: "`money.Round` rounds each line half away from zero, so the error adds up. The plan is in PLAN.md:\n\n```\n1. money.Round: half to even.\n2. Tests: money, invoice, tax, report.\n```\n\n<goto>IMPLEMENT.md</goto>"},
	}
	plan.Refusals = []state.Refusal{{Use: "Bash(git log --oneline -5 -- money)", Reason: "not among the allowed tools", Allow: []string{"Bash(git log:*)"}}}
	plan.Files = []report.File{{Path: "PLAN.md", Change: "added", Diff: "diff --git a/PLAN.md b/PLAN.md\n--- /dev/null\n+++ b/PLAN.md\n@@ -0,0 +1,4 @@\n+# Plan\n+\n+1. money.Round: half to even.\n+2. Tests: money, invoice, tax, report.\n"}}
	s.Waits = append(s.Waits, report.Wait{
		Agent: "main", State: "PLAN.md", Since: s.now, To: s.now.Add(19 * time.Hour), Answer: "Yes, the accountants want that.", By: "ana",
		AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: 1, Question: "The report rounds half to even already. May invoices do the same?"},
	})
	s.now = s.now.Add(19 * time.Hour)
	s.Parts = append(s.Parts, report.Part{Started: s.now})
	implement := s.ran("IMPLEMENT.md", 151*time.Second, 52.9, "TEST.sh")
	no, backoff := 1, 5.0
	implement.Attempts = []report.Attempt{
		{Ended: implement.Started.Add(95 * time.Second), NodeAttempt: state.NodeAttempt{Attempt: 1, DurationS: 95, Reason: "go vet ./... ended with exit code 1", CostUSD: state.Dollar * 31 / 100, Results: []state.CommandResult{
			{Cmd: "gofmt -l .", DurationS: 0.1}, {Cmd: "go vet ./...", RC: no, DurationS: 2.2, Tail: "# acme/ledger/money\nmoney/round.go:17:2: unreachable code\n"},
		}}},
		{Ended: implement.Ended, NodeAttempt: state.NodeAttempt{Attempt: 2, DurationS: 51, BackoffS: &backoff, Converged: true, CostUSD: state.Dollar * 22 / 100, Results: []state.CommandResult{
			{Cmd: "gofmt -l .", DurationS: 0.1}, {Cmd: "go vet ./...", DurationS: 2.1},
		}}},
	}
	implement.Files = []report.File{
		{Path: "money/round.go", Change: "changed", Diff: "diff --git a/money/round.go b/money/round.go\n--- a/money/round.go\n+++ b/money/round.go\n@@ -11,7 +11,11 @@ package money\n \n-// Round rounds half away from zero.\n+// Round rounds half to even.\n func Round(c Cents) Cents {\n-\treturn (c + 5) / 10 * 10\n+\trest := c % 10\n+\tif rest == 5 && c/10%2 == 0 {\n+\t\treturn c - 5\n+\t}\n+\treturn (c + 5) / 10 * 10\n }\n"},
		{Path: "money/round_test.go", Change: "changed", Diff: "@@ -1,1 +1,2 @@\n+// more\n"},
	}
	s.ran("TEST.sh", 21*time.Second, 0, "REVIEW.md")
	review := s.ran("REVIEW.md", 48*time.Second, 17.2, "PUSH.sh")
	review.Retries = []report.Moment{{Time: review.Started.Add(8 * time.Second), Text: "the service is overloaded (529)", BackoffMS: 4000}}
	s.ran("PUSH.sh", 4*time.Second, 0, "")
	s.Result = "Opened https://github.com/acme/ledger/pull/413 from raymond/issue-412.\nmoney.Round rounds half to even; invoice, tax and report have tests for it."
	s.Meta = map[string]string{"issue": "412", "repository": "acme/ledger"}
	return s.ends("completed")
}

func failureLate() *insight.Report {
	s := newStory("port-to-v3-8d1f00aa")
	s.Scope, s.Entry, s.BudgetUSD = ".github/raymond/port", "NEXT.sh", 20*state.Dollar
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 18 {
		s.ran("NEXT.sh", time.Duration(300+random.IntN(900))*time.Millisecond, 0, "PORT.md")
		port := s.ran("PORT.md", time.Duration(60+random.IntN(200))*time.Second, 20+40*random.Float64(), "CHECK.sh")
		port.Messages = []runner.Message{
			{From: runner.FromUser, Time: port.Started, Text: fmt.Sprintf("Port package %d of 31 to the new API. Keep every exported name.", i+1)},
			{From: runner.FromTool, Time: port.Started.Add(3 * time.Second), Tool: "Bash", Input: `{"command":"go build ./..."}`, Text: "pkg/store/open.go:41: undefined: v3.Dial", Failed: true},
			{From: runner.FromAgent, Time: port.Started.Add(30 * time.Second), Model: "claude-opus-5", Text: "The package builds with the new API. <goto>CHECK.sh</goto>"},
		}
		if i%5 == 3 {
			port.Reminders = []report.Moment{{Time: port.Started.Add(40 * time.Second), Text: "the answer has no tag"}}
		}
		s.ran("CHECK.sh", time.Duration(5+random.IntN(25))*time.Second, 0, "NEXT.sh")
	}
	s.ran("NEXT.sh", 400*time.Millisecond, 0, "PORT.md")
	s.ran("PORT.md", 130*time.Second, 44, "CHECK.sh")
	last := s.ran("REVIEW.md", 210*time.Second, 61, "")
	last.Status, last.Transition = "failed", nil
	last.Error = "not done after 3 attempts: `go test ./...` ended with exit code 1"
	for i := range 3 {
		last.Attempts = append(last.Attempts, report.Attempt{Ended: last.Started.Add(time.Duration(70*(i+1)) * time.Second), NodeAttempt: state.NodeAttempt{
			Attempt: i + 1, DurationS: 70, Reason: "go test ./... ended with exit code 1", CostUSD: state.Dollar / 5,
			Results: []state.CommandResult{{Cmd: "go vet ./...", DurationS: 3.1}, {Cmd: "go test ./...", RC: 1, DurationS: 21.4, Truncated: true, Tail: "--- FAIL: TestReopen (0.31s)\n    open_test.go:88: reopen after close: got \"v3: connection is closed\", want nil\nFAIL\nFAIL\tacme/port/pkg/store\t1.209s\nFAIL\n"}},
		}})
	}
	last.Messages = []runner.Message{
		{From: runner.FromUser, Time: last.Started, Text: "Review the whole port. All tests must pass.\n\nDon't change tests."},
		{From: runner.FromTool, Time: last.Started.Add(9 * time.Second), Tool: "Bash", Input: `{"command":"go test ./..."}`, Text: "--- FAIL: TestReopen", Failed: true},
		{From: runner.FromAgent, Time: last.Started.Add(60 * time.Second), Text: "TestReopen expects the old behaviour. I may not change tests, so I leave it.\n\n<result>done</result>"},
	}
	s.Reason = "agent main in state REVIEW.md: " + last.Error
	s.Next = "to try again: raymond resume " + s.WorkflowID
	s.Agents[0].Status, s.Agents[0].Error = "failed", last.Error
	s.Limits = []report.Limit{{Time: s.now, Exec: 50, Limit: state.Limit{Which: "budget", Value: 16.1, Max: 20}}}
	return s.ends("failed")
}

// manyAgents is a run whose first agent forks many others, of which a few fail.
func manyAgents(n int) *insight.Report {
	random := rand.New(rand.NewPCG(3, 4))
	s := newStory("fan-out-nightly-51c9e0d2")
	s.Scope, s.Entry, s.BudgetUSD = "examples/fan-out", "LIST.sh", 500*state.Dollar
	s.ran("LIST.sh", 3*time.Second, 0, "WORK.md")
	free := make([]time.Time, 32)
	for i := range free {
		free[i] = s.now
	}
	for i := range n {
		agent := fmt.Sprintf("main.item%d", i+1)
		status := "ended"
		if i%97 == 50 {
			status = "failed"
		}
		s.Agents = append(s.Agents, report.Agent{ID: agent, Parent: "main", Status: status, Vars: map[string]string{"item": fmt.Sprintf("module-%03d", i)}})
		lane := i % len(free)
		s.now = free[lane]
		for _, name := range []string{"WORK.md", "CHECK.sh", "SUM-UP.md"} {
			e := s.ran(name, time.Duration(2+random.IntN(90))*time.Second, 2+10*random.Float64(), "CHECK.sh")
			e.Agent = agent
			e.Messages = []runner.Message{{From: runner.FromUser, Text: "Work on module " + agent}, {From: runner.FromAgent, Text: strings.Repeat("Some words about it. ", 20)}}
			if status == "failed" && name == "SUM-UP.md" {
				e.Status, e.Transition, e.Error = "failed", nil, "the agent CLI ended with exit code 1: context is full"
			}
		}
		free[lane] = s.now
	}
	for _, at := range free {
		s.now = later(s.now, at)
	}
	s.Waits = append(s.Waits, report.Wait{Agent: "main", State: "LIST.sh", Since: s.Executions[0].Ended, To: s.now, By: "agents", AgentWaits: state.AgentWaits{For: state.ForAgents}})
	s.ran("REPORT.md", 95*time.Second, 33, "")
	s.LeftOut = []string{"Of the conversations, 12 MiB of 50 MiB are shown: those of failed and of the newest executions."}
	return s.ends("completed")
}

// hostile has every trick that we know of in every text.
func hostile() *insight.Report {
	evil := "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">" +
		"<a href=\"javascript:window.hacked=1\">x</a>{{.}}</pre></details></section><style>*{display:none}</style>" +
		"\x1b[31mred\x1b]0;title\x07\x00\u202Egnp.exe\u2066\u200b<!--\xff\xfe]]>"
	r := filled(evil, 1)
	last := r.Executions[0]
	last.N, last.State = 2, "MARKER.md"
	last.Messages = []runner.Message{{From: runner.FromAgent, Text: "the needle in the haystack"}, {From: runner.FromAgent, Text: strings.Repeat("w", 100<<10)}, {
		From: runner.FromTool, Tool: strings.Repeat("t", 10<<10), Input: `{"` + strings.Repeat("[", 100_000),
	}}
	r.Executions = append(r.Executions, last)
	return r
}
