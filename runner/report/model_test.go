package report

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/state"
)

// TestModelGolden compares what is known of recorded runs with golden files: every kind of end,
// of wait and of failure, several agents and several parts.
func TestModelGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.jsonl")
	must(t, err)
	pages, err := filepath.Glob("testdata/pages/*.jsonl")
	must(t, err)
	for _, log := range append(logs, pages...) {
		name := strings.TrimSuffix(strings.TrimPrefix(log, "testdata/"), ".jsonl")
		t.Run(name, func(t *testing.T) {
			run := &state.Run{}
			twice := func(yield func(state.Event, error) bool) { // as after a resume: they count once
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
			golden(t, name+".model.json", string(data)+"\n")
		})
	}
}

// TestRenumberedExecutionsAreOne: an execution that was under way when parts of a matrix were
// joined goes on under another number, and is one row with that.
func TestRenumberedExecutionsAreOne(t *testing.T) {
	begins, ends := &state.StateStarted{Kind: "prompt"}, &state.StateFinished{OK: true, DurationMS: 1000}
	for name, bodies := range map[string][]state.Body{
		"started again": {begins, &state.AttemptInterrupted{Attempt: 1}, begins, ends}, "a reminder was pending": {begins, &state.Reminder{N: 1}, ends},
	} {
		m := NewModel()
		for i, body := range bodies {
			exec := 9
			if i == 0 {
				exec = 2
			}
			m.Add(state.Event{Seq: 2*i + 1, Time: nine, Agent: "main", State: "A.md", Exec: exec, Body: body})
			if i == 0 {
				m.Add(state.Event{Seq: 2, Time: nine, Body: &state.RunFinished{Status: state.Suspended}})
			}
		}
		if rows := m.Rows(false); len(rows) != 1 || rows[0].N != 9 || rows[0].Status != Completed {
			t.Errorf("%s: got %+v, want one completed execution 9", name, rows)
		}
	}
}
