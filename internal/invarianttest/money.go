package invarianttest

import (
	"reflect"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// money checks the ledger in all saved runs: each agent process has one entry, and entries never change
// or disappear. Whether the sum is correct is checked by state.Run.Validate.
func (f *findings) money(ev Evidence) {
	var before []state.LedgerEntry
	for _, run := range append(savedRuns(ev), ev.Run) {
		if run == nil {
			continue
		}
		seen := map[int]bool{}
		for i, e := range run.Ledger {
			if seen[e.N] || e.N > run.Progress.Launches {
				f.add("P-5", "step %d: invocation %d has a second entry, or a number above %d", run.Progress.Seq, e.N, run.Progress.Launches)
			}
			if seen[e.N] = true; i < len(before) && !reflect.DeepEqual(e, before[i]) {
				f.add("P-5", "step %d: the ledger entry %+v was %+v before", run.Progress.Seq, e, before[i])
			}
		}
		if len(run.Ledger) < len(before) {
			f.add("P-5", "step %d: ledger entries have disappeared", run.Progress.Seq)
		}
		before = run.Ledger
	}
	if ev.Run != nil {
		f.booked(ev)
	}
}

// booked compares the number of ledger entries with the agents' effects and with the number of
// invocations.
func (f *findings) booked(ev Evidence) {
	entries, running := map[place]int{}, 0
	for _, e := range ev.Run.Ledger {
		entries[place{e.Agent, e.State}]++
	}
	scripts, hasVerification := 0, false // done_when commands count as invocations but have no ledger entries
	for _, a := range ev.Run.Agents {
		hasVerification = hasVerification || a.Exec != nil && (a.Exec.Phase == state.PhaseVerify || a.Exec.PassedResults != nil)
		if a.Exec != nil && a.Exec.Running != nil && a.Exec.Running.Mode != "" {
			entries[place{a.ID, a.State}]++ // the resume will add an entry for this invocation
			running++
		}
	}
	for at, n := range runCounts(ev.Effects) {
		if strings.HasSuffix(at.state, ".md") && n > entries[at] {
			f.add("P-5", "%s ran %d times at %s, but has %d ledger entries", at.agent, n, at.state, entries[at])
		}
	}
	for _, e := range ev.Events {
		switch b := e.Body.(type) {
		case *state.StateStarted:
			if b.Kind == "script" {
				scripts++
			}
		case *state.NodeAttempt:
			hasVerification = true
		}
	}
	if want := ev.Run.Progress.Launches - scripts; len(ev.Events) > 0 && !hasVerification && len(ev.Run.Ledger)+running != want {
		f.add("P-5", "the ledger has %d invocations and %d are under way, want %d in total", len(ev.Run.Ledger), running, want)
	}
}

// savedRuns returns the runs that were saved at the idle moments, in order.
func savedRuns(ev Evidence) []*state.Run {
	var list []*state.Run
	for _, r := range ev.IdleMoments {
		if r.Run != nil {
			list = append(list, r.Run)
		}
	}
	return list
}
