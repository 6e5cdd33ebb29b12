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

// The modes of Query and Facts. Any other mode is the id of a run. With Never, no run is looked up.
const (
	Auto    = "auto"
	Require = "require"
	Never   = "never"
)

// Time limits of a Finder, without downloads: for each request with its retries, and for all
// requests together.
const (
	requestFor = time.Minute
	lookFor    = 5 * time.Minute
)

// Finder finds the checkpoint that a job resumes.
type Finder struct {
	Service Service // nil if the job has no results service
	Archive Archive // nil without a token for the REST API
}

// Query describes the checkpoint to find and the origins to trust.
type Query struct {
	Mode string // Auto, Require, or the id of a run
	Key  string
	// Part is the part of a matrix whose checkpoints are wanted. With an empty name, these are the
	// checkpoints of the run itself.
	Part   state.Part
	Origin Origin
	Job    Job
	// SameIDs is set on Gitea and act, where an artifact keeps its id when it is stored again under
	// its name. Ids then don't identify the newest artifact of a workflow run, and all three
	// manifests are read.
	SameIDs bool
	Act     bool   // act runs the job, so earlier workflow runs don't exist
	Temp    string // directory for downloads
	// Read verifies a checkpoint and unpacks it into an empty directory, as checkpoint.Read does
	// with the keys of this job.
	Read func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error)
}

// place returns the Place of the checkpoints that are wanted.
func (q *Query) place() Place { return Place{q.Key, q.Part.Name} }

// Job identifies the present job.
type Job struct {
	RunID   int64  // of the workflow run
	Attempt int    // of the workflow run
	ID      string // in the workflow file
	Runner  string // name of the machine
}

// Found is the result of a Finder. Manifest is nil if there is nothing to resume; Notices, Warning
// and Existing may be set even then.
type Found struct {
	Manifest *checkpoint.Manifest
	Digest   string // of the manifest
	Dir      string // directory with the files of the checkpoint; the caller removes it
	Artifact artifacts.Artifact

	RunID     int64  // workflow run that stored it; 0 if unknown
	RunURL    string // "" if unknown
	RunStatus string // as the REST API returns it; "" if unknown
	InThisRun bool   // the present workflow run has stored it
	// OlderHere is set if another workflow run has continued the run, and the present one has an
	// older checkpoint of it.
	OlderHere bool
	// SupersededBy describes, for users, the run of another workflow run that has superseded this
	// run; "" for none.
	SupersededBy string
	// JobStatus is the status of the job that stored the checkpoint, for a running run of the
	// present workflow run: as the REST API returns it, or "completed" if this is known without a
	// request; "" if unknown.
	JobStatus string

	// Notices name, for users, skipped artifacts and the reasons.
	Notices []string
	// Warning says in mode Auto why nothing could be looked up; "" if it could.
	Warning string
	// NoAccess is set if the reason is a missing token or permission. Later workflow runs can't
	// find this run's checkpoints either.
	NoAccess bool
	// Existing are the artifacts with these names in the present workflow run, oldest first, for
	// Slots.Adopt.
	Existing []artifacts.Artifact
}

// Remove removes the files of a Found, which may be nil. Errors are ignored, because the job's
// temporary directory is removed anyway.
func (f *Found) Remove() {
	if f != nil {
		_ = os.RemoveAll(f.Dir)
	}
}

// Find looks for the newest checkpoint of the key with the origin of this workflow's own runs: in
// the present workflow run first, then in others. If another workflow run has continued the run,
// its checkpoint is returned. Artifacts of another origin are skipped with a notice. If the newest
// checkpoint can't be verified, Find returns the error of Read; it never uses an older one instead.
//
// If nothing can be looked up, the result is nothing and Found.Warning in mode Auto, and *NoAccess
// in other modes. The same applies to a checkpoint that has expired or was deleted, which is *Gone,
// and to ErrListTooLong. A service that does not answer, or fails after retries, is an
// *Unavailable. Two runs that resumed the same checkpoint are a *Conflict. A manifest that does not
// fit the place where it was found is a *checkpoint.Invalid.
func (f *Finder) Find(ctx context.Context, q Query) (*Found, error) {
	s := newSearch(f, q)
	found, err := s.find(ctx)
	if found == nil {
		found = &Found{}
	}
	found.Notices, found.Existing = s.skipped.notices(), s.existing
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

// Existing returns the artifacts with the names of the query in the present workflow run, ordered
// by id, oldest first. It is for a job that does not look for a run to resume.
func (f *Finder) Existing(ctx context.Context, q Query) ([]artifacts.Artifact, error) {
	list, err := newSearch(f, q).here(ctx)
	return existing(q.place().of(list)), err
}
