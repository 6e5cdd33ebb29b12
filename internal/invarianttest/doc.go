// Package invarianttest checks ten invariants of every run, whatever happened to it. It
// is for tests that disturb a run, for example by killing its process.
//
//	P-1   a committed step is never executed again
//	P-2   a step that was not committed is executed at most once more for each crash, and the log shows it
//	P-3   the agents are exactly the agents that committed forks created
//	P-4   each call returns once, and each result arrives once, byte for byte
//	P-5   each agent process has one entry in the ledger, which adds up and never shrinks
//	P-6   generations of checkpoints only grow, and a restore takes the newest
//	P-7   the last good state is never removed, neither on disk nor in the store
//	P-8   an invalid state is never written
//	P-9   each segment of a run ends once in the log, with the status in the state
//	P-10  no process, no temporary file and no readable secret in encrypted data remains
//
// These include waits: an agent that waits runs nothing (P-1), and each wait ends once (P-4).
//
// A step is committed when it was saved.
package invarianttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Evidence has all traces of a run: files, events, processes. Unknown parts may be empty; they
// are not checked.
type Evidence struct {
	Run    *state.Run    // as saved at the end
	Events []state.Event // the log
	// Effects are the traces of all scripts and agents, in order of execution.
	Effects []Effect
	// Undisturbed has the effects of the same run without disturbance.
	Undisturbed []Effect
	// IdleMoments are the earlier moments at which no process drove the run, in order.
	IdleMoments []IdleMoment
	// Checkpoints has all checkpoints that were ever stored, in order, and StoreListings the
	// content of the store after each change.
	Checkpoints   []StoredCheckpoint
	StoreListings []StoreListing
	// Processes and TempFiles describe processes and temporary files that still exist.
	Processes, TempFiles []string
	// Sealed is data that was encrypted. It must not contain any of Secrets.
	Sealed  [][]byte
	Secrets []string
}

// IdleMoment is a moment at which no process drove the run.
type IdleMoment struct {
	Run     *state.Run // nil if no run had been saved yet
	Effects int        // number of effects before this moment
}

// Effect is a line that an agent or a script wrote when it ran.
type Effect struct {
	Agent, State string
	// IsVerification is set if a done_when command wrote it.
	IsVerification bool
	Line           string // the whole line
}

// StoredCheckpoint is a checkpoint that was stored.
type StoredCheckpoint struct {
	Digest   string // "" if unknown
	Manifest checkpoint.Manifest
	Run      *state.Run // nil if unknown
}

// StoreListing is the content of a store at one moment.
type StoreListing struct {
	Stored  int   // number of checkpoints that had been stored before
	Present []int // indexes in Evidence.Checkpoints of the checkpoints that still exist
}

// ParseEffects parses lines that agents and scripts wrote as JSON with their names. It skips other lines.
func ParseEffects(lines []string) []Effect {
	var list []Effect
	for _, line := range lines {
		e := struct{ Agent, State, Kind string }{}
		if json.Unmarshal([]byte(line), &e) == nil && e.Agent != "" && e.State != "" {
			list = append(list, Effect{Agent: e.Agent, State: e.State, IsVerification: e.Kind == "verify", Line: line})
		}
	}
	return list
}

// Want reports each violated invariant as an error of t.
func Want(t testing.TB, ev Evidence) {
	t.Helper()
	for _, v := range Check(ev) {
		t.Error(v)
	}
}

// Check returns the violations, each as the id of the invariant and a description: "P-1: …".
func Check(ev Evidence) []string {
	ev.Events = withUnlogged(ev.Events, ev.Run)
	var f findings
	w := replay(ev, &f)
	f.repeats(ev)
	f.money(ev)
	f.checkpoints(ev)
	f.saved(ev, w)
	f.ends(ev)
	f.remains(ev)
	return f
}

// withUnlogged returns the events of the log, plus the events of the last saved step that are missing in
// the log because the process was killed after it saved. A resume adds them to the log first.
func withUnlogged(events []state.Event, run *state.Run) []state.Event {
	if run == nil {
		return events
	}
	last := 0
	if n := len(events); n > 0 {
		last = events[n-1].Seq
	}
	all := events[:len(events):len(events)]
	for _, e := range run.Events {
		if e.Seq > last {
			all = append(all, e)
		}
	}
	return all
}

// findings are the violations found so far.
type findings []string

// add records a violation of the invariant id.
func (f *findings) add(id, format string, args ...any) {
	*f = append(*f, id+": "+fmt.Sprintf(format, args...))
}

// isPrompt reports whether a state is a prompt, which an agent CLI runs.
func isPrompt(name string) bool { return strings.HasSuffix(name, ".md") }
