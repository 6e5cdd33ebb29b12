package action

import (
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
	"github.com/raymond-action/raymond-action/state"
)

// newestLocal returns the newest run of this key in the state folder, or the one
// that the input names; nil when there is none.
func newestLocal(s *step) (*state.Run, error) {
	if s.in.Resume == job.ResumeNever {
		return nil, nil
	}
	ids, err := state.List(s.dirs.state)
	if err != nil {
		return nil, err
	}
	var newest *state.Run
	for _, id := range ids {
		if id != s.in.Resume && !isOfKey(s, id) {
			continue
		}
		run, err := state.Read(s.dirs.state, id)
		if err != nil {
			return nil, err
		}
		if newest == nil || run.Created.After(newest.Created) {
			newest = run
		}
	}
	return newest, nil
}

// isOfKey reports whether a run in the state folder has the key of this step. Ids
// alone don't tell keys apart that differ in more than letters and digits, or in
// what is cut off.
func isOfKey(s *step, id string) bool {
	if len(id) < 8 || id != job.WorkflowID(s.key, id[len(id)-8:]) {
		return false
	}
	kept := readLocalNote(s, id)
	return kept.Key == "" || kept.Key == s.key
}

// localNote says whose a run in the state folder is, and what later parts of it have to
// know of this one.
type localNote struct {
	Key       string      `json:"key"`
	Subject   job.Subject `json:"subject,omitzero"`
	Untrusted bool        `json:"untrusted,omitempty"`
}

// readLocalNote returns the note of a run in the state folder; the zero value where it
// can't be read.
func readLocalNote(s *step, id string) localNote {
	var kept localNote
	if err := seal.ReadNote(s.fileOfRun(id, localFile), &kept); err != nil {
		return localNote{}
	}
	return kept
}

const localFile = "key.json"

// findLocal decides on the newest run in the state folder as if it came from a
// checkpoint that lacks nothing.
func findLocal(s *step, f *flow, r *remarks) (*earlierRun, error) {
	run, err := newestLocal(s)
	if err != nil || s.in.Resume == job.ResumeNever || run == nil && s.in.Resume == job.ResumeAuto {
		return nil, err
	}
	facts := factsOf(s)
	facts.RunStatus = "completed" // who drives it holds its lock
	var m *checkpoint.Manifest
	if run != nil {
		m = localManifest(run, s.event.Number) // the key has the number
		measure(s, f, &facts, run)
	}
	return decide(s, &earlierRun{run: run}, decisionOn(s, m, facts), r)
}

// localManifest is what the checkpoint of a run in the state folder would say.
func localManifest(run *state.Run, number int) *checkpoint.Manifest {
	p := &run.Progress
	return &checkpoint.Manifest{
		WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason, Seq: p.Seq, TotalUSD: p.TotalUSD, Estimated: run.Spent().Estimated,
		Iterations: run.Begun(), Number: number,
	}
}
