// Package invarianttest checks ten invariants that every run must fulfil, whatever happens to it. It is
// for tests that disturb a run, for example by killing its process.
//
//	P-1   a committed step is never executed again
//	P-2   a step that was not committed is repeated at most once for each crash, and the log shows it
//	P-3   the agents are exactly the agents that committed forks created
//	P-4   each call returns once, and each result arrives once, byte for byte
//	P-5   each agent process has one entry in the ledger, whose entries add up and never disappear
//	P-6   generations of checkpoints only grow, and a restore takes the newest
//	P-7   the last good state is never removed, neither on disk nor in the store
//	P-8   an invalid state is never written
//	P-9   each segment of a run ends once in the log, with the status in the saved run
//	P-10  no process, no temporary file and no readable secret in encrypted data remains
//
// The invariants also apply to waits: an agent that waits runs nothing (P-1), and each wait ends once
// (P-4).
//
// A step is committed when it has been saved.
package invarianttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Evidence contains everything that a test knows about a run: files, events and processes. Fields that
// a test does not know may be empty; they are not checked.
type Evidence struct {
	Run    *state.Run    // the run that was saved at the end
	Events []state.Event // the event log
	// Effects are the lines that scripts and agents wrote when they ran, in order of execution.
	Effects []Effect
	// Undisturbed contains the effects of the same run without a disturbance.
	Undisturbed []Effect
	// IdleMoments are the moments before the end at which no process drove the run, in order.
	IdleMoments []IdleMoment
	// Checkpoints contains all checkpoints that were ever stored, in order. StoreListings lists the
	// content of the store after each change.
	Checkpoints   []StoredCheckpoint
	StoreListings []StoreListing
	// Processes and TempFiles describe processes and temporary files that still exist at the end.
	Processes, TempFiles []string
	// Sealed is encrypted data. It must not contain any of Secrets.
	Sealed  [][]byte
	Secrets []string
}

// IdleMoment is a moment at which no process drove the run.
type IdleMoment struct {
	Run     *state.Run // the saved run; nil if no run had been saved yet
	Effects int        // number of effects before this moment
}

// Effect is a line that an agent or a script wrote when it ran.
type Effect struct {
	Agent, State string
	// IsVerification is set if a done_when command wrote the line.
	IsVerification bool
	Line           string // the whole line
}

// StoredCheckpoint is a checkpoint that was uploaded to the store.
type StoredCheckpoint struct {
	Digest   string // "" if unknown
	Manifest checkpoint.Manifest
	Run      *state.Run // the run in the checkpoint; nil if unknown
}

// StoreListing lists the checkpoints in a store at one moment.
type StoreListing struct {
	Stored  int   // number of checkpoints that had been stored up to this moment
	Present []int // the checkpoints that still exist, as indexes in Evidence.Checkpoints
}

// ParseEffects parses lines of JSON that agents and scripts wrote. It skips lines that do not name both an
// agent and a state.
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

// Want checks the evidence and reports each violation of an invariant as an error of t.
func Want(t testing.TB, ev Evidence) {
	t.Helper()
	for _, v := range Check(ev) {
		t.Error(v)
	}
}

// Check checks the evidence and returns the violations. Each one consists of the id of an invariant and a
// description, in the form "P-1: …".
func Check(ev Evidence) []string {
	// The log may lack events of the last saved step, if the process was killed after it saved the step. A
	// resume would add them to the log before it does anything else.
	if ev.Run != nil {
		last := 0
		if n := len(ev.Events); n > 0 {
			last = ev.Events[n-1].Seq
		}
		unlogged := slices.DeleteFunc(slices.Clone(ev.Run.Events), func(e state.Event) bool { return e.Seq <= last })
		ev.Events = slices.Concat(ev.Events, unlogged)
	}
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

// findings are the violations that have been found so far.
type findings []string

// add records a violation of the invariant id.
func (f *findings) add(id, format string, args ...any) {
	*f = append(*f, id+": "+fmt.Sprintf(format, args...))
}
