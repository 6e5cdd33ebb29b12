package sitetest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"testing"
)

//go:embed testdata/canonical
var canonicalFlow embed.FS

// Canonical is a site with the workflow of testdata/canonical and a raymond that
// can be made to break: Breaking.
func Canonical(t testing.TB) *Site {
	t.Helper()
	s := New(t, "")
	s.Bin = Breaking.Path(t)
	CopyCanonical(t, s.Flow)
	return s
}

// CopyCanonical writes the canonical workflow into a folder.
func CopyCanonical(t testing.TB, dir string) {
	t.Helper()
	flow, err := fs.Sub(canonicalFlow, "testdata/canonical")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, flow); err != nil {
		t.Fatal(err)
	}
}

// CanonicalInput is the payload of the first state.
const CanonicalInput = "an \"input\"\nof 'two' lines"

// CanonicalArgs start the canonical workflow, with at most parallel agents at once.
func (s *Site) CanonicalArgs(parallel int) []string {
	return s.RunArgs("--input", CanonicalInput, "--max-parallel", fmt.Sprint(parallel), "--budget", "0", "--events", "copy.jsonl")
}

// Trace is what a run of the canonical workflow left behind.
type Trace struct {
	Stdout  string
	Events  []string          // normalised
	Effects []string          // a line a state execution
	Results map[string]string // of the agents
}

// Trace returns what a run that ended so has left.
func (s *Site) Trace(o Outcome) Trace {
	s.T.Helper()
	run := s.Saved()
	tr := Trace{Stdout: o.Stdout, Events: Normalise(s.T, s.Events()), Effects: s.Lines("effects"), Results: map[string]string{}}
	for _, e := range run.Ended {
		tr.Results[e.Agent] = string(e.Result)
	}
	return tr
}

// Undisturbed runs the canonical workflow once without a fault.
func Undisturbed(t testing.TB, parallel int) Trace {
	t.Helper()
	s := Canonical(t)
	o := s.Raymond(0, s.CanonicalArgs(parallel)...)
	tr := s.Trace(o)
	if want := "the end,\nwith \"quotes\"\n"; tr.Stdout != want || len(tr.Results) != 4 {
		t.Fatalf("undisturbed run: got %v and results %q\nwant the result %q and 4 agents", o, tr.Results, want)
	}
	return tr
}

// Effect is a line of the side effects, as far as it names the execution.
type Effect struct{ Agent, State string }

// EffectsOf reads the lines that the states of the canonical workflow have written.
func EffectsOf(t testing.TB, lines []string) []Effect {
	t.Helper()
	var list []Effect
	for _, line := range lines {
		var e Effect
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("side effect %q: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}
