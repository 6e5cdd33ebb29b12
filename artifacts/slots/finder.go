package slots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// The modes of Query and Facts. Any other mode is the id of a run; with Never nothing is looked for.
const (
	Auto    = "auto"
	Require = "require"
	Never   = "never"
)

// How long a Finder looks, downloads aside: each request is tried for a minute at
// most, all of them together while answers come.
const (
	requestFor = time.Minute
	lookFor    = 5 * time.Minute
)

// Finder finds the checkpoint that a job resumes.
type Finder struct {
	Service Service // nil: the job has no results service
	Archive Archive // nil: there is no token for the REST API
}

// Query says what is looked for, and what is trusted.
type Query struct {
	Mode string // Auto, Require, or the id of a run
	Key  string
	// Part is a part of a matrix, whose own checkpoints are looked for; without a name it
	// is those of the run itself.
	Part   state.Part
	Origin Origin
	Job    Job
	// SameIDs says that an artifact that is stored again under its name keeps its
	// id, as on Gitea and act: then ids don't tell the newest of one workflow run,
	// and the manifests of all three are read.
	SameIDs bool
	Act     bool   // act runs the job: there are no earlier workflow runs
	Temp    string // folder for what is downloaded
	// Read verifies and unpacks a checkpoint into an empty folder, as
	// checkpoint.Read does with the keys of this job.
	Read func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error)
}

// place is where checkpoints of the key, or of the part, are.
func (q *Query) place() Place { return Place{q.Key, q.Part.Name} }

// Job is the present job.
type Job struct {
	RunID   int64  // of the workflow run
	Attempt int    // of the workflow run
	ID      string // in the workflow file
	Runner  string // name of the machine
}

// Found is what a Finder found. Manifest is nil where there is nothing to resume;
// Notices, Warning and Existing may be set even then.
type Found struct {
	Manifest *checkpoint.Manifest
	Digest   string // of the manifest
	Dir      string // folder with the files of the checkpoint; the caller's to remove
	Artifact artifacts.Artifact

	RunID     int64  // workflow run that stored it; 0 when unknown
	RunURL    string // "" when unknown
	RunStatus string // as the REST API tells it; "" when unknown
	InThisRun bool   // it was stored in the present workflow run
	// OlderHere says that the present workflow run has an older checkpoint of the run, which
	// another one has continued.
	OlderHere bool
	// SupersededBy names, for people, the run of another workflow run that has superseded this run; "" for none.
	SupersededBy string
	// JobStatus is that of the job that stored it, of a run under way in the present
	// workflow run: as the REST API tells it, or "completed" where nobody has to be
	// asked; "" when unknown.
	JobStatus string

	// Notices are for people: what was passed over and why.
	Notices []string
	// Warning says in Auto mode why nothing could be looked for; "" if it could.
	Warning string
	// NoAccess says that the reason is a missing token or permission: later workflow
	// runs can't find what this run stores either.
	NoAccess bool
	// Existing are the artifacts of these names in the present workflow run, oldest
	// first, for Slots.Adopt.
	Existing []artifacts.Artifact
}

// Remove removes the files, also of a nil Found. What is left of them goes with the job's temporary folder.
func (f *Found) Remove() {
	if f != nil {
		_ = os.RemoveAll(f.Dir)
	}
}

// Find looks in the present workflow run, and then in others, for the newest checkpoint
// of the key that comes from where this workflow's own runs store theirs. Where another
// workflow run has continued the run that is found, its checkpoint counts. Artifacts of another origin are passed over with a notice. When the
// newest one can't be verified, the error of Read is returned: an older one is never
// used instead.
//
// Where nothing can be looked for, Auto finds nothing and says so in Found.Warning;
// the other modes fail with *NoAccess. The same holds for a checkpoint that has expired
// or was deleted, which is *Gone, and for ErrListTooLong. A service that can't be asked,
// or that fails after retries, is an *Unavailable; two runs that resumed the same
// checkpoint are a *Conflict; and a manifest that does not fit the place where it was
// found is a *checkpoint.Invalid.
func (f *Finder) Find(ctx context.Context, q Query) (*Found, error) {
	s := newSearch(f, q)
	found, err := s.find(ctx)
	if found == nil {
		found = &Found{}
	}
	found.Notices, found.Existing = s.passed.notices(), s.existing
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("look for a checkpoint: %w", context.Cause(ctx))
	case q.Mode == Auto && (isA[*NoAccess](err) || isA[*Gone](err) || errors.Is(err, ErrListTooLong)):
		found.Warning = err.Error() + "; a new run starts"
		found.NoAccess = isA[*NoAccess](err)
		return found, nil
	}
	return nil, err
}

// Existing returns what is stored under the names of a place in the present workflow
// run, oldest first by their ids: for a job that does not look for a run to resume.
func (f *Finder) Existing(ctx context.Context, q Query) ([]artifacts.Artifact, error) {
	list, err := newSearch(f, q).here(ctx)
	return existing(q.place().of(list)), err
}
