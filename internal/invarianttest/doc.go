// Package invarianttest is for tests that disturb a run: it checks what must hold of
// every run, whatever was done to it. There are ten invariants.
//
//	P-1   a committed step is never executed again
//	P-2   one that is not is executed at most once more for each crash, and the log says so
//	P-3   the agents are those that the committed forks made
//	P-4   each call returns once, and a result arrives once, byte for byte
//	P-5   each agent process has one entry in the ledger, which adds up and never shrinks
//	P-6   generations of checkpoints only grow, and a restore takes the newest
//	P-7   nothing takes the last good state away, neither here nor where it is stored
//	P-8   a state that is not valid is never written
//	P-9   each part of a run ends once in the log, as the state has it
//	P-10  nothing is left: no process, no temporary file, no secret in what is sealed
//
// Waits are part of these: an agent that waits runs nothing (P-1), and each wait ends once (P-4).
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

// Evidence is what a run has left behind. What is not known may be missing: it is not
// checked then.
type Evidence struct {
	Run    *state.Run    // as it is saved in the end
	Events []state.Event // the log
	// Effects are what scripts and agents really did, in order.
	Effects []Effect
	// Undisturbed is Effects of a run that nobody disturbed.
	Undisturbed []Effect
	// IdleMoments are the earlier moments at which nobody drove the run, in order.
	IdleMoments []IdleMoment
	// Checkpoints has all checkpoints that were ever stored, in order, and Shelves what was
	// there after each change of the store.
	Checkpoints   []StoredCheckpoint
	StoreListings []StoreListing
	// Processes and Temporary describe what is alive and what lies around.
	Processes, TempFiles []string
	// Sealed is what was encrypted. None of Secrets may be in it.
	Sealed  [][]byte
	Secrets []string
}

// IdleMoment is a moment at which nobody drove the run.
type IdleMoment struct {
	Run     *state.Run // nil: none was saved by then
	Effects int        // how many there were
}

// Effect is a trace that an agent or a script left when it ran.
type Effect struct {
	Agent, State string
	// IsVerification says that a done_when command left it.
	IsVerification bool
	Line           string // all of it
}

// StoredCheckpoint is a checkpoint that was stored.
type StoredCheckpoint struct {
	Digest   string // "" when it is not known
	Manifest checkpoint.Manifest
	Run      *state.Run // nil when it is not known
}

// StoreListing is what a store has at a moment.
type StoreListing struct {
	Stored  int   // how many checkpoints had been stored by then
	Present []int // the indexes of those that were still there
}

// ParseEffects reads the lines that agents and scripts wrote as JSON with their names, and passes over others.
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

// Want reports each invariant that does not hold.
func Want(t testing.TB, l Evidence) {
	t.Helper()
	for _, v := range Check(l) {
		t.Error(v)
	}
}

// Check returns the invariants that do not hold, each as "P-1: what is wrong".
func Check(l Evidence) []string {
	l.Events = withUntold(l.Events, l.Run)
	var f findings
	w := replay(l, &f)
	f.repeats(l)
	f.money(l)
	f.checkpoints(l)
	f.saved(l, w)
	f.ends(l)
	f.remains(l)
	return f
}

// withUntold adds the events of the last save that a process that was killed right
// then could not tell. A resume tells them first.
func withUntold(events []state.Event, run *state.Run) []state.Event {
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

// findings are the violations.
type findings []string

func (f *findings) add(id, format string, args ...any) {
	*f = append(*f, id+": "+fmt.Sprintf(format, args...))
}

// isPrompt reports whether a state is one that an agent runs.
func isPrompt(name string) bool { return strings.HasSuffix(name, ".md") }
