package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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
	"five":    func() *insight.Report { return recorded("five") },
	"failure": func() *insight.Report { return recorded("failure") },
	"agents":  func() *insight.Report { return manyAgents(1000) },
	"hostile": hostile,
	"empty":   func() *insight.Report { return &insight.Report{WorkflowID: "empty", Status: "running", Created: began} },
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
		e.Spent.USD = state.USD(cents * float64(state.Dollar) / 100)
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

// ends ends the run.
func (s *story) ends(status string) *insight.Report {
	s.Status, s.Finished, s.Parts[len(s.Parts)-1].Ended = status, s.now, s.now
	return s.Report
}

// recorded is a report as raymond report --json writes it.
func recorded(name string) *insight.Report {
	data, err := os.ReadFile("testdata/" + name + ".json")
	var r insight.Report
	if err = errors.Join(err, json.Unmarshal(data, &r)); err != nil {
		panic(err)
	}
	return &r
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
