package action

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/claims"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
)

// lookup is where a run was looked for, and what came of it.
type lookup struct {
	services services
	found    *slots.Found  // nil with store: local; without a manifest when there is none
	existing *earlierRun   // nil: a new run starts
	follows  *earlierRun   // a run that is completed, whose conversation the new one continues; nil for none
	reruns   *earlierRun   // a run from one of whose steps the new one begins; nil for none
	key      string        // under which it was found, or else is to be kept
	claim    *claims.Claim // of that key; nil when it is not claimed yet
	isIdle   bool          // the agents of this step's part wait no longer: nothing is done
}

// before is the run that the step resumes, or that its new run follows or runs again; nil for
// none.
func (l lookup) before() *earlierRun { return cmp.Or(l.existing, l.follows, l.reruns) }

// decided is the lookup with the run that was decided on.
func (l lookup) decided(s *step, e *earlierRun) lookup {
	if s.in.Rerun != "" {
		l.reruns = e
	} else {
		l.existing = e
	}
	return l
}

// isOver reports whether the run is completed, and only shown again.
func (l lookup) isOver() bool {
	return l.existing != nil && l.existing.isOver && l.existing.found != nil
}

// remove removes what was downloaded.
func (l lookup) remove() {
	if l.found != nil && l.found.Dir != "" {
		_ = os.RemoveAll(l.found.Dir) // the runner empties the folder too
	}
}

// find looks for the run to resume, unless a remark has led to one. What it has to say
// goes to the remarks.
func find(ctx context.Context, s *step, now present, c *call) (lookup, error) {
	if err := os.MkdirAll(s.dirs.state, 0o700); err != nil {
		return lookup{}, err
	}
	if c.isCall {
		return c.taken(ctx, s, now)
	}
	if s.isLocal() {
		e, err := findLocal(s, now.flow, now.remarks)
		return lookup{key: s.key}.decided(s, e), err
	}
	v, err := s.openServices()
	if err != nil {
		return lookup{}, err
	}
	return findStored(ctx, s, lookup{services: v, key: s.key}, now)
}

// present is the workflow as it is now, with which a run that is found is compared,
// and where what differs is told.
type present struct {
	flow    *flow
	remarks *remarks
}

// findStored looks among the artifacts. Whether a run is resumed is decided by what
// its checkpoint says; nothing is put back before that.
func findStored(ctx context.Context, s *step, l lookup, now present) (lookup, error) {
	l.found = &slots.Found{}
	if s.in.Resume == job.ResumeNever {
		return l, nil
	}
	follows, err := readFollows(s)
	if err != nil {
		return l, err
	}
	found, err := l.services.finder().Find(ctx, s.query())
	if err != nil {
		return l, err
	}
	l.found = found
	for _, n := range found.Notices {
		s.voice.notice(n)
	}
	if found.Warning != "" {
		now.remarks.isBlind = found.NoAccess
		now.remarks.losses = append(now.remarks.losses, found.Warning)
	}
	if m := found.Manifest; m != nil && isTold(s) && !mayTake(s, m) {
		s.voice.notice(notTaken(s, m))
		return l, nil
	}
	facts := factsFound(s, found)
	facts.Follows, facts.Digest = follows, found.Digest
	e := &earlierRun{found: found}
	if found.Manifest != nil {
		if e.run, err = readState(found); err != nil {
			return l, err
		}
		measure(s, now.flow, &facts, e.run)
	}
	if len(s.in.Part) > 0 && e.run != nil {
		return findPart(ctx, s, part{l, e, facts}, now.remarks)
	}
	e, err = decide(s, e, decisionOn(s, found.Manifest, facts), now.remarks)
	return l.decided(s, e), err
}

// factsFound has besides what is known of where a run was found; nil for nowhere.
func factsFound(s *step, found *slots.Found) slots.Facts {
	facts := factsOf(s)
	if found != nil {
		facts.InThisRun, facts.OlderHere, facts.RunStatus, facts.JobStatus = found.InThisRun, found.OlderHere, found.RunStatus, found.JobStatus
		facts.RunURL = cmp.Or(found.RunURL, s.pageOf(found.RunID))
	}
	return facts
}

// maxState is the largest state file that is read, in bytes, as in a checkpoint.
const maxState = 64 << 20

// readState reads the run of a checkpoint, which is verified by now.
func readState(found *slots.Found) (*state.Run, error) {
	path := filepath.Join(found.Dir, "state.json")
	data, _, err := files.Read(path, maxState)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassBadState, Where: found.Artifact.Name, What: "has no state.json"}
	}
	run, err := state.Decode(data)
	var bad *state.FileError
	if errors.As(err, &bad) {
		bad.Path = found.Artifact.Name + ": state.json"
	}
	if err == nil && run.WorkflowID != found.Manifest.WorkflowID {
		err = &state.FileError{Path: found.Artifact.Name + ": state.json", Field: "workflow_id", What: "is not the manifest's"}
	}
	return run, err
}
