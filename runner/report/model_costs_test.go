package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// costlyRun drives a run with random costs, answers, failures and interruptions. It reports the
// events of the run to a summary.
type costlyRun struct {
	t   *testing.T
	rnd *rand.Rand
	run *state.Run
	now time.Time
	ids int
	to  Reporter
}

func (s *costlyRun) step(decide func(*state.Step)) {
	s.now = s.now.Add(time.Minute)
	step := s.run.Step(s.now)
	decide(step)
	s.run = s.run.With(step.Delta())
	for _, e := range s.run.Events {
		report(s.t, s.to, e)
	}
}

// segment drives one segment of the run. The run is cancelled at the end of the segment.
func (s *costlyRun) segment(resumed bool) {
	s.step(func(step *state.Step) {
		if resumed {
			step.Resume(nil)
			return
		}
		step.Begin()
	})
	for range 6 {
		s.step(func(step *state.Step) {
			for a, ok := step.Schedule().Next(0); ok; a, ok = step.Schedule().Next(0) {
				s.ids++
				st := &protocol.State{Name: a.State, Kind: protocol.Prompt}
				step.Start(a.ID, state.Launch{State: st, Plan: a.Plan(st, state.CLI{Name: protocol.BackendClaude, AcceptsSessionID: true}), SessionID: fmt.Sprint("s-", s.ids), Cwd: "/d"})
			}
		})
		s.step(func(step *state.Step) {
			for _, a := range s.run.Agents {
				if a.Status == state.Busy && s.rnd.IntN(2) == 0 {
					step.End(a.ID, &protocol.State{Name: a.State, Kind: protocol.Prompt}, s.outcome(state.Transient))
				}
			}
		})
	}
	s.step(func(step *state.Step) {
		for _, a := range s.run.Agents {
			if a.Status == state.Busy {
				step.End(a.ID, &protocol.State{Name: a.State, Kind: protocol.Prompt}, s.outcome(state.Stopped))
			}
		}
		step.Close(step.Closing(&state.Stop{Status: state.Cancelled, Reason: "SIGINT"}))
	})
}

func (s *costlyRun) outcome(class state.Class) state.Outcome {
	cents := state.Dollar / 10_000 * state.USD(1+s.rnd.IntN(9))
	used := state.ModelCost{Usage: state.Usage{Model: []string{"opus", "haiku"}[s.rnd.IntN(2)], Input: 10}, CostUSD: cents}
	o := state.Outcome{}
	switch s.rnd.IntN(5) {
	case 0:
		o.Used = []state.ModelCost{used}
	case 1: // the cost is unknown
	case 2: // the cost is in tokens, some without a price
		other := state.ModelCost{Usage: state.Usage{Model: "local", Output: 1 + s.rnd.Int64N(700)}}
		o.Cost = state.Cost{Kind: state.Exact, USD: cents, Usage: []state.ModelCost{used, other}, Unpriced: other.Output, Listed: true}
		if s.rnd.IntN(2) == 0 {
			o.Cost.USD, o.Cost.Usage = 0, []state.ModelCost{other}
		}
	default:
		o.Cost = state.Cost{Kind: state.Exact, USD: cents, Usage: []state.ModelCost{used}}
	}
	if class == state.Stopped || s.rnd.IntN(3) == 0 {
		o.Failure = &state.Failure{Class: class, Message: "x"}
		return o
	}
	o.Decision = protocol.Decision{Then: protocol.Move{Verb: protocol.Goto, To: "A.md"}}
	if s.rnd.IntN(3) == 0 {
		o.Decision.Spawns = []protocol.Spawn{{State: "A.md", Next: "A.md"}}
	}
	return o
}

// totalsOf returns several totals in a summary that must be equal: the sums over the table's rows,
// over the models and over the agents.
func totalsOf(s *Summary) map[string]state.Spent {
	m, all := s.model, map[string]state.Spent{}
	add := func(what string, spent state.Spent) { all[what] = all[what].Plus(spent) }
	for _, x := range m.Executions {
		add("table", x.Spent.Spent)
	}
	for _, sum := range m.ByModel() {
		add("models", sum.Spent.Spent)
	}
	for _, a := range m.Agents {
		add("agents", a.Spent.Spent)
	}
	return all
}

// TestTotalsAgree drives several segments of a run. After each segment, it checks that the headline
// and the sums of all rows, all models and all agents show the cost in the ledger. Some of the
// costs are estimated or unknown.
func TestTotalsAgree(t *testing.T) {
	for seed := range uint64(20) {
		p := &page{}
		summary := summaryTo(p)
		run := state.New(state.Run{
			WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d",
			Files:   map[string]string{"A.md": strings.Repeat("ab", 32)},
			Options: state.Options{MaxParallel: 9, MaxAgents: 9, MaxDepth: 4, MaxRetries: 50, PermissionMode: "acceptEdits"},
		}, "", nine)
		s := &costlyRun{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), run: run, now: nine, to: summary}
		for part := range 3 {
			s.segment(part > 0)
			want := s.run.Spent()
			for what, got := range totalsOf(summary) {
				assert.Equal(t, got, want, "seed %d part %d: %s", seed, part, what)
			}
			assert.Check(t, is.Contains(summary.render(), "**"+want.String()+"**"), "seed %d: want a headline with %s", seed, want)
		}
	}
}
