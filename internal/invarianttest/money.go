package invarianttest

import (
	"reflect"
	"slices"

	"github.com/raymond-action/raymond-action/state"
)

// money checks the ledger: of the run in the end, and that it never took back what it
// had by an earlier moment.
func (f *findings) money(l Left) {
	var before *state.Run
	for _, run := range append(saves(l), l.Run) {
		if run == nil {
			continue
		}
		f.ledger(run)
		f.grows(before, run)
		before = run
	}
	f.told(l)
	if l.Run != nil {
		f.booked(l)
	}
}

// saves are the runs of all rests, in order.
func saves(l Left) []*state.Run {
	var list []*state.Run
	for _, r := range l.Rests {
		if r.Run != nil {
			list = append(list, r.Run)
		}
	}
	return list
}

// ledger checks that each agent process is in the ledger of a run once, and that it
// adds up.
func (f *findings) ledger(run *state.Run) {
	seen := map[int]bool{}
	for _, e := range run.Ledger {
		if seen[e.N] || e.N < 1 || e.N > run.Progress.Launches {
			f.add("P-5", "step %d: invocation %d is booked a second time, or was none of %d", run.Progress.Seq, e.N, run.Progress.Launches)
		}
		seen[e.N] = true
		if e.Kind != state.Exact && e.Kind != state.Estimated && e.Kind != state.Unknown || e.CostUSD < 0 || e.Unpriced < 0 || e.Kind == state.Unknown && e.CostUSD != 0 {
			f.add("P-5", "step %d: the entry %+v is neither exact nor estimated nor unknown", run.Progress.Seq, e)
		}
	}
	sum, unpriced := state.USD(0), int64(0)
	for _, e := range run.Ledger {
		sum, unpriced = sum+e.CostUSD, unpriced+e.Unpriced
	}
	if spent := run.Spent(); spent.Unpriced != unpriced {
		f.add("P-5", "step %d: %d tokens without a price are told, and the ledger adds up to %d", run.Progress.Seq, spent.Unpriced, unpriced)
	}
	if sum != run.Progress.TotalUSD {
		f.add("P-5", "step %d: the total is $%s, and the ledger adds up to $%s", run.Progress.Seq, run.Progress.TotalUSD, sum)
	}
}

// grows checks that a later ledger has all of an earlier one.
func (f *findings) grows(before, run *state.Run) {
	if before == nil || before.WorkflowID != run.WorkflowID {
		return
	}
	if run.Progress.TotalUSD < before.Progress.TotalUSD {
		f.add("P-5", "the total fell from $%s to $%s", before.Progress.TotalUSD, run.Progress.TotalUSD)
	}
	for i, e := range before.Ledger {
		if i >= len(run.Ledger) || !reflect.DeepEqual(e, run.Ledger[i]) {
			f.add("P-5", "the entry %+v of the ledger was changed or is gone", e)
			return
		}
	}
}

// told checks that the ends of the parts of a run tell a total that never falls.
func (f *findings) told(l Left) {
	total := state.Spent{}
	for _, e := range l.Events {
		b, ok := e.Body.(*state.RunFinished)
		if ok && (b.USD < total.USD || b.Unpriced < total.Unpriced) {
			f.add("P-5", "event %d: the run has cost %s, after %s", e.Seq, b.Spent, total)
		}
		if ok {
			total = b.Spent
		}
	}
}

// booked compares the ledger with what agents really did, and with the count of
// launches.
func (f *findings) booked(l Left) {
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
func verifies(l Left) bool {
	for _, e := range l.Events {
		if _, ok := e.Body.(*state.NodeAttempt); ok {
			return true
		}
	}
	return slices.ContainsFunc(l.Run.Agents, func(a *state.Agent) bool {
		return a.Exec != nil && (a.Exec.Phase == state.PhaseVerify || a.Exec.Passed != nil)
	})
}
