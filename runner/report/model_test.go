package report

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
			data, err := json.MarshalIndent(struct {
				*Model
				ByModel []Sum `json:"by_model"`
			}{m, m.ByModel()}, "", "\t")
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
		if x := m.Last("main"); len(m.Executions) != 1 || x.N != 4 || !x.Started.Equal(nine) || x.isActive() != (m == withEvents) {
			t.Errorf("%s: got %d executions, the last is %+v, want one with the number 4", name, len(m.Executions), x)
		}
	}
}
