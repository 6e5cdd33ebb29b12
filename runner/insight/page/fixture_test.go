package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/insight"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// epoch is the time at which the runs in tests start.
var epoch = time.Date(2026, 3, 9, 9, 14, 3, 0, time.UTC)

// fixtures returns the reports with which pages are tested, by name.
var fixtures = map[string]func() *insight.Report{
	"five":    func() *insight.Report { return recordedReport("five") },
	"failure": func() *insight.Report { return recordedReport("failure") },
	"agents":  func() *insight.Report { return manyAgents(1000) },
	"hostile": hostile,
	"empty":   func() *insight.Report { return &insight.Report{WorkflowID: "empty", Status: "running", Created: epoch} },
}

// recordedReport reads a report that the command raymond report --json has written.
func recordedReport(name string) *insight.Report {
	data, err := os.ReadFile("testdata/" + name + ".json")
	var r insight.Report
	if err = errors.Join(err, json.Unmarshal(data, &r)); err != nil {
		panic(err)
	}
	return &r
}

// manyAgents returns the report of a run whose first agent forks n agents. Some of them fail.
func manyAgents(n int) *insight.Report {
	random := rand.New(rand.NewPCG(3, 4))
	r := &insight.Report{
		WorkflowID: "fan-out-nightly-51c9e0d2", Status: "completed", Scope: "examples/fan-out", Entry: "LIST.sh", Created: epoch, BudgetUSD: 500 * state.Dollar,
		Segments: []report.Segment{{Started: epoch}}, Agents: []report.Agent{{ID: "main", Status: "ended"}},
		LeftOut: []string{"Of the conversations, 12 MiB of 50 MiB are shown: those of failed and of the newest executions."},
	}
	ran := func(agent, name string, from time.Time, takes time.Duration) *report.Exec {
		e := report.Exec{
			N: len(r.Executions) + 1, Agent: agent, State: name, Kind: "prompt", Status: "completed", Started: from, Ended: from.Add(takes),
			Transition: &state.Transition{Tag: "goto", Target: "CHECK.sh", From: name},
		}
		e.Spent.USD = state.USD(random.Int64N(int64(state.Dollar / 10)))
		r.Spent.USD = r.Spent.USD.Plus(e.Spent.USD)
		e.Total, r.Finished = r.Spent.USD, later(r.Finished, e.Ended)
		r.Executions = append(r.Executions, e)
		return &r.Executions[len(r.Executions)-1]
	}
	began := ran("main", "LIST.sh", epoch, 3*time.Second).Ended
	free := slices.Repeat([]time.Time{began}, 32)
	for i := range n {
		agent, status, at := fmt.Sprintf("main.item%d", i+1), "ended", &free[i%len(free)]
		if i%97 == 50 {
			status = "failed"
		}
		r.Agents = append(r.Agents, report.Agent{ID: agent, Parent: "main", Status: status, Vars: map[string]string{"item": fmt.Sprintf("module-%03d", i)}})
		for _, name := range []string{"WORK.md", "CHECK.sh", "SUM-UP.md"} {
			e := ran(agent, name, *at, time.Duration(2+random.IntN(90))*time.Second)
			e.Messages = []runner.Message{{From: runner.FromUser, Text: "Work on module " + agent}, {From: runner.FromAgent, Text: strings.Repeat("Some words about it. ", 20)}}
			if status == "failed" && name == "SUM-UP.md" {
				e.Status, e.Transition, e.Error = "failed", nil, "the agent CLI ended with exit code 1: context is full"
			}
			*at = e.Ended.Add(40 * time.Millisecond)
		}
	}
	r.Waits = append(r.Waits, report.Wait{Agent: "main", State: "LIST.sh", Since: began, To: r.Finished, By: "agents", AgentWaits: state.AgentWaits{For: state.ForAgents}})
	ran("main", "REPORT.md", r.Finished, 95*time.Second)
	r.Segments[0].Ended = r.Finished
	return r
}

// hostile returns a report in which every text contains many attacks.
func hostile() *insight.Report {
	evil := "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">" +
		"<a href=\"javascript:window.hacked=1\">x</a>{{.}}</pre></details></section><style>*{display:none}</style>" +
		"\x1b[31mred\x1b]0;title\x07\x00\u202Egnp.exe\u2066\u200b<!--\xff\xfe]]>"
	r := filledReport(evil, 1)
	last := r.Executions[0]
	last.N, last.State = 2, "MARKER.md"
	last.Messages = []runner.Message{{From: runner.FromAgent, Text: "the needle in the haystack"}, {From: runner.FromAgent, Text: strings.Repeat("w", 100<<10)}, {
		From: runner.FromTool, Tool: strings.Repeat("t", 10<<10), Input: `{"` + strings.Repeat("[", 100_000),
	}}
	r.Executions = append(r.Executions, last)
	return r
}
