package invarianttest

import (
	"reflect"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// money checks the ledger: each agent process is in it once, and it never takes back what it had by an earlier moment. That
// it adds up is part of what makes a state valid.
func (f *findings) money(l Evidence) {
	var before []state.LedgerEntry
	for _, run := range append(saves(l), l.Run) {
		if run == nil {
			continue
		}
		seen := map[int]bool{}
		for i, e := range run.Ledger {
			if seen[e.N] || e.N > run.Progress.Launches {
				f.add("P-5", "step %d: invocation %d is booked a second time, or was none of %d", run.Progress.Seq, e.N, run.Progress.Launches)
			}
			if seen[e.N] = true; i < len(before) && !reflect.DeepEqual(e, before[i]) {
				f.add("P-5", "step %d: the entry %+v of the ledger was %+v", run.Progress.Seq, e, before[i])
			}
		}
		if len(run.Ledger) < len(before) {
			f.add("P-5", "step %d: entries of the ledger are gone", run.Progress.Seq)
		}
		before = run.Ledger
	}
	if l.Run != nil {
		f.booked(l)
	}
}

// saves are the runs of all rests, in order.
func saves(l Evidence) []*state.Run {
	var list []*state.Run
	for _, r := range l.IdleMoments {
		if r.Run != nil {
			list = append(list, r.Run)
		}
	}
	return list
}

// booked compares the ledger with what agents really did, and with the count of
// launches.
func (f *findings) booked(l Evidence) {
	entries, running := map[place]int{}, 0
	for _, e := range l.Run.Ledger {
		entries[place{e.Agent, e.State}]++
	}
	for _, a := range l.Run.Agents {
		if a.Exec != nil && a.Exec.Running != nil && a.Exec.Running.Mode != "" {
			entries[place{a.ID, a.State}]++ // it will be
			running++
		}
	}
	for at, n := range ran(l.Effects) {
		if isPrompt(at.state) && n > entries[at] {
			f.add("P-5", "%s ran %d times at %s, and %d invocations are booked", at.agent, n, at.state, entries[at])
		}
	}
	if want := l.Run.Progress.Launches - scripts(l.Events); len(l.Events) > 0 && !verifies(l) && len(l.Run.Ledger)+running != want {
		f.add("P-5", "%d invocations of agents are booked and %d under way, and there were %d", len(l.Run.Ledger), running, want)
	}
}

// scripts counts the launches of scripts.
func scripts(events []state.Event) int {
	n := 0
	for _, e := range events {
		if b, ok := e.Body.(*state.StateStarted); ok && b.Kind == "script" {
			n++
		}
	}
	return n
}

// verifies reports whether commands of done_when were run, which count as launches.
func verifies(l Evidence) bool {
	for _, e := range l.Events {
		if _, ok := e.Body.(*state.NodeAttempt); ok {
			return true
		}
	}
	return slices.ContainsFunc(l.Run.Agents, func(a *state.Agent) bool {
		return a.Exec != nil && (a.Exec.Phase == state.PhaseVerify || a.Exec.PassedResults != nil)
	})
}
