//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// canonical is a site with the workflow of testdata/canonical and a raymond that
// can be made to break.
func canonical(t testing.TB) *site {
	t.Helper()
	s := newSite(t, "")
	s.bin = breaking.path(t)
	if err := os.CopyFS(s.flow, os.DirFS(filepath.Join("testdata", "canonical"))); err != nil {
		t.Fatal(err)
	}
	return s
}

// canonicalInput is the payload of the first state.
const canonicalInput = "an \"input\"\nof 'two' lines"

func (s *site) canonicalArgs(parallel int) []string {
	return s.runArgs("--input", canonicalInput, "--max-parallel", fmt.Sprint(parallel), "--budget", "0", "--events", "copy.jsonl")
}

// trace is what a run of the canonical workflow left behind.
type trace struct {
	Stdout  string
	Events  []string          // normalised
	Effects []string          // a line a state execution
	Results map[string]string // of the agents
}

func (s *site) trace(o outcome) trace {
	s.t.Helper()
	run := s.saved()
	tr := trace{Stdout: o.stdout, Events: normalise(s.t, s.events()), Effects: s.lines("effects"), Results: map[string]string{}}
	for _, e := range run.Ended {
		tr.Results[e.Agent] = string(e.Result)
	}
	return tr
}

// undisturbed runs the canonical workflow once without a fault.
func undisturbed(t testing.TB, parallel int) trace {
	t.Helper()
	s := canonical(t)
	o := s.raymond(0, s.canonicalArgs(parallel)...)
	tr := s.trace(o)
	if want := "the end,\nwith \"quotes\"\n"; tr.Stdout != want || len(tr.Results) != 4 {
		t.Fatalf("undisturbed run: got %v and results %q\nwant the result %q and 4 agents", o, tr.Results, want)
	}
	return tr
}

// breakAt runs raymond so that it ends itself at the n-th failpoint, and returns
// false when it came to its end before.
func (s *site) breakAt(n int, args ...string) (outcome, bool) {
	s.t.Helper()
	o := s.startWith([]string{fmt.Sprint(killVar, "=", n)}, args...).wait()
	if o.code != -1 && o.code != 0 {
		s.t.Fatalf("raymond %q broken at failpoint %d: got %v\nwant a kill or success", args, n, o)
	}
	return o, o.code == -1
}

// mayRepeat returns the states that the run on disk has as not ended, for each of
// its agents.
func (s *site) mayRepeat() map[string]string {
	s.t.Helper()
	open := map[string]string{}
	if !exists(s.stateFile()) {
		return open
	}
	for _, a := range s.saved().Agents {
		open[a.ID] = a.State
	}
	return open
}

// effect is a line of the side effects, as far as it names the execution.
type effect struct{ Agent, State string }

func effectsOf(t testing.TB, lines []string) []effect {
	t.Helper()
	var list []effect
	for _, line := range lines {
		var e effect
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("side effect %q: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}

// wantOnlyOpenRepeated checks that what came after a kill repeats nothing but the
// executions that were open then.
func (s *site) wantOnlyOpenRepeated(before int, open map[string]string) {
	s.t.Helper()
	all := effectsOf(s.t, s.lines("effects"))
	for i, e := range all[before:] {
		if slices.Contains(all[:before], e) && open[e.Agent] != e.State {
			s.t.Errorf("after the kill: got %+v once more (line %d), want it once: the open states were %v", e, before+i+1, open)
		}
	}
}

// wantLike compares a run that was killed and resumed with an undisturbed one.
func (s *site) wantLike(o outcome, want trace) {
	s.t.Helper()
	got := s.trace(o)
	if got.Stdout != want.Stdout {
		s.t.Errorf("stdout: got %q, want %q", got.Stdout, want.Stdout)
	}
	if d := cmp.Diff(want.Results, got.Results); d != "" {
		s.t.Errorf("results of the agents (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Events, got.Events); d != "" {
		s.t.Errorf("event log (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Effects, slices.Compact(got.Effects)); d != "" {
		s.t.Errorf("side effects (-want +got):\n%s", d)
	}
	s.wantWhole()
}

// wantWhole checks what holds for every run, however often it was killed: the
// log is complete and so is its copy, and every agent process has been paid for
// once.
func (s *site) wantWhole() {
	s.t.Helper()
	events, run := s.events(), s.saved()
	for i, e := range events {
		if i > 0 && e.Seq <= events[i-1].Seq {
			s.t.Errorf("event %d of the log: got number %d after %d", i+1, e.Seq, events[i-1].Seq)
		}
	}
	if d := cmp.Diff(numbers(events), numbers(eventsIn(s.t, s.file("copy.jsonl")))); d != "" {
		s.t.Errorf("copy of the event log (-log +copy):\n%s", d)
	}
	wantLedger(s.t, run)
	if want := run.Progress.Launches - scriptsStarted(events); len(run.Ledger) != want {
		s.t.Errorf("ledger: got %d entries, want %d, one for each agent process: %+v", len(run.Ledger), want, run.Ledger)
	}
	wantStartedAgents(s.t, events, run)
	if left, err := filepath.Glob(filepath.Join(s.stateDir(), "*.tmp")); err != nil || len(left) > 0 {
		s.t.Errorf("temporary files after the end: got %q (%v), want none", left, err)
	}
}

// scriptsStarted counts the launches of scripts in a log.
func scriptsStarted(events []state.Event) int {
	n := 0
	for _, b := range bodies[*state.StateStarted](events) {
		if b.Kind == "script" {
			n++
		}
	}
	return n
}

func numbers(events []state.Event) []string {
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprint(e.Seq, " ", e.Body.Type()))
	}
	return list
}

// wantLedger checks that the ledger has each agent process once and adds up.
func wantLedger(t testing.TB, run *state.Run) {
	t.Helper()
	seen, sum := map[int]bool{}, state.USD(0)
	for _, e := range run.Ledger {
		if seen[e.N] || e.N < 1 || e.N > run.Progress.Launches {
			t.Errorf("ledger: got %+v a second time or out of range, want each of %d launches at most once", e, run.Progress.Launches)
		}
		seen[e.N] = true
		sum += e.CostUSD
	}
	if sum != run.Progress.TotalUSD {
		t.Errorf("total: got $%s, want the sum of the ledger, $%s", run.Progress.TotalUSD, sum)
	}
}

// wantStartedAgents checks that the agents of the log are those of the state.
func wantStartedAgents(t testing.TB, events []state.Event, run *state.Run) {
	t.Helper()
	started := map[string]int{}
	for _, e := range events {
		if _, ok := e.Body.(*state.AgentStarted); ok {
			started[e.Agent]++
		}
	}
	want := map[string]int{}
	for _, e := range run.Ended {
		want[e.Agent]++
	}
	for _, a := range run.Agents {
		want[a.ID]++
	}
	if d := cmp.Diff(want, started); d != "" {
		t.Errorf("agents (-state +log):\n%s", d)
	}
}

// eachFailpoint runs f in parallel for n = 1, 2, 3 … until it returns false: the
// run came to its end before failpoint n.
func eachFailpoint(t *testing.T, step int, f func(t *testing.T, n int) bool) int {
	var done atomic.Bool
	n := 1
	for !done.Load() && !t.Failed() {
		t.Run("from", func(t *testing.T) {
			for range 8 {
				at := n
				n += step
				t.Run(fmt.Sprint(at), func(t *testing.T) {
					t.Parallel()
					if !f(t, at) {
						done.Store(true)
					}
				})
			}
		})
	}
	return n
}

// TestKilledAtEveryFailpoint kills a run at every moment that a save has, and
// resumes it: nothing differs from a run that nobody disturbed.
func TestKilledAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, 1)
	var kills atomic.Int32
	eachFailpoint(t, 1, func(t *testing.T, n int) bool {
		s := canonical(t)
		o, killed := s.breakAt(n, s.canonicalArgs(1)...)
		if killed {
			kills.Add(1)
			before, open := len(s.lines("effects")), s.mayRepeat()
			o = s.goOn(1)
			s.wantOnlyOpenRepeated(before, open)
		}
		s.wantLike(o, want)
		return killed
	})
	if kills.Load() < 40 {
		t.Errorf("kills: got %d, want at least 40: the workflow does not exercise enough", kills.Load())
	}
}

// goOn resumes after a kill. A run that was killed before its first save does not
// exist, and is started again.
func (s *site) goOn(parallel int) outcome {
	s.t.Helper()
	return s.raymond(0, s.goOnArgs(parallel)...)
}

func (s *site) goOnArgs(parallel int) []string {
	if !exists(s.stateFile()) {
		return s.canonicalArgs(parallel)
	}
	return []string{"resume", runID, "--events", "copy.jsonl"}
}

// TestResumeKilledAtItsFailpoints kills the resume too, and the resume of that.
func TestResumeKilledAtItsFailpoints(t *testing.T) {
	t.Parallel()
	want := undisturbed(t, 1)
	for _, m := range []int{1, 2, 4, 5, 7} {
		t.Run(fmt.Sprint("resume at ", m), func(t *testing.T) {
			eachFailpoint(t, 6, func(t *testing.T, n int) bool {
				s := canonical(t)
				o, killed := s.breakAt(n, s.canonicalArgs(1)...)
				for again, tries := killed, 0; again && tries < 3; tries++ {
					o, again = s.breakAt(m+tries, s.goOnArgs(1)...)
				}
				if killed {
					o = s.goOn(1)
				}
				s.wantLike(o, want)
				return killed
			})
		})
	}
}
