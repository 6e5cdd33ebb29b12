package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// TestModelGolden compares the models of recorded runs with golden files. The recorded runs contain
// every way in which a run can end, wait or fail, several agents, and several segments.
func TestModelGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.jsonl")
	must(t, err)
	pages, err := filepath.Glob("testdata/pages/*.jsonl")
	must(t, err)
	for _, log := range append(logs, pages...) {
		name := strings.TrimSuffix(strings.TrimPrefix(log, "testdata/"), ".jsonl")
		t.Run(name, func(t *testing.T) {
			run := &state.Run{}
			// After a resume, events may be reported again. The model must ignore them.
			twice := func(yield func(state.Event, error) bool) {
				for e, err := range Events(log) {
					for range 2 {
						if !yield(e, err) {
							return
						}
					}
				}
			}
			m, err := ModelOf(run, twice, nil)
			must(t, err)
			_, _, byModel := m.Totals()
			data, err := json.MarshalIndent(struct {
				*Model
				ByModel []Sum `json:"by_model"`
			}{m, byModel}, "", "\t")
			must(t, err)
			goldenFile(t, name+".model.json", string(data)+"\n")
		})
	}
}

// TestExecutionSpansSegments checks that an execution that continues in a later segment is still
// one row, with its whole cost and the time spent on it. This is so even if the parts of a matrix
// were joined in between and the execution has another number.
func TestExecutionSpansSegments(t *testing.T) {
	begins, stops := &state.StateStarted{Kind: "prompt"}, &state.RunFinished{Status: state.Suspended, Spent: state.Spent{USD: 1}, Unfinished: []state.Unfinished{{Agent: "main", State: "A.md", Spent: state.Spent{USD: 1}}}}
	again, goesOn := &state.AttemptInterrupted{Attempt: 1}, &state.RunStarted{Resumed: true}
	for name, c := range map[string]struct {
		bodies []state.Body // one second apart, but an hour passes before each RunStarted
		want   int64        // expected duration in milliseconds
	}{
		"cut off":                {[]state.Body{&state.RunStarted{}, begins, stops, goesOn, again, begins, &state.StateFinished{OK: true, Spent: state.Spent{USD: 3}, DurationMS: 5000}}, 6000},
		"killed":                 {[]state.Body{&state.RunStarted{}, begins, &state.AgentOutput{}, goesOn, again, begins, &state.StateFinished{OK: true, Spent: state.Spent{USD: 3}, DurationMS: 5000}}, 6000},
		"a reminder was pending": {[]state.Body{&state.RunStarted{}, begins, &state.Reminder{N: 1}, stops, goesOn, &state.StateFinished{OK: true, Spent: state.Spent{USD: 3}, DurationMS: 5000}}, 5000},
	} {
		m, at, exec := NewModel(), nine, 2
		for i, body := range c.bodies {
			e := state.Event{Seq: i + 1, Time: at, Body: body}
			at = at.Add(time.Second)
			switch body.(type) {
			case *state.RunStarted:
				if i > 0 {
					exec = 9
				}
				e.Time = at.Add(time.Hour)
				at = e.Time
			case *state.RunFinished:
			default:
				e.Agent, e.State, e.Exec = "main", "A.md", exec
			}
			m.Add(e)
		}
		rows := m.Rows(false)
		if len(rows) != 1 || rows[0].N != 9 || rows[0].Status != Completed || rows[0].DurationMS != c.want || rows[0].Spent.USD != 3 || m.total().USD != 3 {
			t.Errorf("%s: got %+v and %s, want one completed execution 9 of %d ms", name, rows, m.total(), c.want)
		}
	}
}

// TestResumedExecutions checks that Resume adds the open executions in the state. If events have
// already reported an open execution, Resume does not add it again.
func TestResumedExecutions(t *testing.T) {
	run := &state.Run{Agents: []*state.Agent{{ID: "main", State: "A.md", Exec: &state.Exec{Iteration: 4, Attempt: 2, Started: nine}}}}
	withEvents := NewLiveModel()
	withEvents.Add(state.Event{Time: nine, Agent: "main", State: "A.md", Exec: 2, Body: &state.StateStarted{Kind: "prompt"}})
	for name, m := range map[string]*Model{"the state alone": NewLiveModel(), "with events": withEvents} {
		m.Resume(run)
		if x := m.Last("main"); len(m.Executions) != 1 || x.N != 4 || !x.Started.Equal(nine) || x.work.isPaused == (m == withEvents) {
			t.Errorf("%s: got %d executions, the last is %+v, want one with the number 4", name, len(m.Executions), x)
		}
	}
}

// costlyRun drives a run with random costs, answers, failures and interruptions.
type costlyRun struct {
	rnd *rand.Rand
	run *state.Run
	now time.Time
	ids int
	to  *Fanout // gets the events of the run
}

func (s *costlyRun) step(decide func(*state.Step)) {
	s.now = s.now.Add(time.Minute)
	step := s.run.Step(s.now)
	decide(step)
	s.run = s.run.With(step.Delta())
	for _, e := range s.run.Events {
		s.to.Report(e)
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

// TestTotalsAgree drives several segments of a run. After each segment, it checks that the headline
// and the sums of all rows, all models and all agents show the cost in the ledger. Some of the
// costs are estimated or unknown.
func TestTotalsAgree(t *testing.T) {
	for seed := range uint64(20) {
		f := newFanout(t)
		summary := NewSummary(f.Model, SummaryOptions{Write: new(page).write})
		f.Add("summary", summary)
		run := state.New(state.Run{
			WorkflowID: "run-1", Mark: "0123456789abcdef", Scope: "/w", Entry: "A.md", Dir: "/d",
			Files:   map[string]string{"A.md": strings.Repeat("ab", 32)},
			Options: state.Options{MaxParallel: 9, MaxAgents: 9, MaxDepth: 4, MaxRetries: 50, PermissionMode: "acceptEdits"},
		}, "", nine)
		s := &costlyRun{rnd: rand.New(rand.NewPCG(seed, 1)), run: run, now: nine, to: f}
		for part := range 3 {
			s.segment(part > 0)
			totals := map[string]state.Spent{}
			for _, x := range f.Model.Executions {
				totals["table"] = totals["table"].Plus(x.Spent.Spent)
			}
			_, _, byModel := f.Model.Totals()
			for _, sum := range byModel {
				totals["models"] = totals["models"].Plus(sum.Spent.Spent)
			}
			for _, a := range f.Model.Agents {
				totals["agents"] = totals["agents"].Plus(a.Spent.Spent)
			}
			want := s.run.Spent()
			for what, got := range totals {
				assert.Equal(t, got, want, "seed %d part %d: %s", seed, part, what)
			}
			assert.Check(t, is.Contains(summary.render(), "**"+want.String()+"**"), "seed %d: want a headline with %s", seed, want)
		}
	}
}

// TestManyModels checks that only a limited number of models get separate totals.
func TestManyModels(t *testing.T) {
	const cent = state.Dollar / 100
	m := NewModel()
	for i := range 30 {
		models := map[string]state.USD{fmt.Sprint("model", i+1): cent, "model0": cent}
		m.Add(state.Event{Agent: "main", State: "A.md", Exec: i + 1, Body: &state.StateFinished{OK: true, DurationMS: 10, Spent: state.Spent{USD: 2 * cent}, Models: models}})
	}
	_, _, sums := m.Totals()
	if got := (&Summary{model: m}).table(); strings.Count(got, "`model") != maxModels || !strings.Contains(got, "other $0.2100") || sums[0].DurationMS != 300 || sums[0].Executions != 30 {
		t.Errorf("30 models: %+v %s, want %d of them and the rest, and all time in the dearest", sums[0], got, maxModels)
	}
}

// TestResumedRunHidesOldFailures checks that while a resumed run is active, failures in earlier
// segments are not shown.
func TestResumedRunHidesOldFailures(t *testing.T) {
	failed := []state.Body{
		&state.RunStarted{}, &state.StateStarted{Kind: "prompt", Attempt: 1}, &state.StateFinished{Error: "broken pipe"}, &state.AgentFinished{Error: "broken pipe"},
		&state.RunFinished{Status: state.Failed, Reason: "agent main in state A.md: broken pipe"}, &state.Checkpoint{Error: "no such service"},
	}
	again := &state.RunStarted{Resumed: true}
	for name, more := range map[string][]state.Body{"not resumed": nil, "when it begins": {again}, "at work": {again, &state.StateStarted{Kind: "prompt", Attempt: 1}}} {
		var p page
		f := newFanout(t)
		s := NewSummary(f.Model, SummaryOptions{Write: p.write})
		f.Add("summary", s)
		for i, body := range slices.Concat(failed, more) {
			e := state.Event{Seq: i + 1, Time: nine, Body: body}
			switch body.(type) {
			case *state.StateStarted, *state.StateFinished, *state.AgentFinished:
				e.Agent, e.State = "main", "A.md"
			}
			f.Report(e)
		}
		must(t, s.write())
		for what, got := range map[string]bool{"the comment": strings.Contains(s.Overview(), "broken pipe"), "the page": strings.Contains(p.text, "no such service")} {
			assert.Check(t, is.Equal(got, more == nil), "%s: the old failure on %s", name, what)
		}
	}
}

// TestOutputsBeginAtALine checks that Outputs removes an incomplete first line. Events contain only
// the end of a long output, which may start within a line. A shorter output is complete, so nothing
// is removed.
func TestOutputsBeginAtALine(t *testing.T) {
	lines := strings.Repeat("a long line\n", 341)
	for output, want := range map[string]string{"ine\n" + lines: lines, " line\n" + lines[12:]: " line\n" + lines[12:]} {
		for _, one := range (&Exec{Stdout: output, Stderr: output}).Outputs() {
			assert.Check(t, is.Equal(one.Text, want), "%s: got %d bytes %.30q, want %d", one.Name, len(one.Text), one.Text, len(want))
		}
	}
}
