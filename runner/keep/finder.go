package keep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
)

// The modes of Query and Facts. Any other mode is the id of a run.
const (
	Auto    = "auto"
	Require = "require"
)

// lookFor is how long a Finder looks, downloads aside.
const lookFor = 10 * time.Second

// Finder finds the checkpoint that a job takes up.
type Finder struct {
	Service Service // nil: the job has no results service
	Archive Archive // nil: there is no token for the REST API
	// Within is how long all requests but downloads may take; 0 for 10 s.
	Within time.Duration
}

// Query says what is looked for, and what is believed.
type Query struct {
	Mode         string // Auto, Require, or the id of a run
	Key          string
	RepositoryID int64
	Repository   string // "owner/name"
	// Workflow is the path of the own workflow file; "" where the environment does
	// not tell, and then the API is asked.
	Workflow      string
	ResumeFrom    []string // other workflow files whose checkpoints are accepted
	Branch        string   // the own head branch
	DefaultBranch string
	RunID         int64 // of the present workflow run
	// Gitea allows for what its API leaves out of artifacts and runs. What is there
	// is checked all the same.
	Gitea bool
	// SameIDs says that an artifact that is stored again under its name keeps its
	// id, as on Gitea and act: then ids don't tell the newest of one workflow run,
	// and the manifests of all three are read.
	SameIDs bool
	Temp    string // folder for what is downloaded
	// Read verifies and unpacks a checkpoint into an empty folder, as
	// checkpoint.Read does with the keys of this job.
	Read func(f *os.File, size int64, dir string) (checkpoint.Manifest, string, error)
}

// Found is what a Finder found. Manifest is nil where there is nothing to take
// up; Notices, Warning and Standing may be there all the same.
type Found struct {
	Manifest *checkpoint.Manifest
	Digest   string // of the manifest
	Dir      string // folder with the files of the checkpoint; the caller's to remove
	Artifact artifacts.Artifact

	RunID     int64  // workflow run that stored it; 0 when unknown
	RunURL    string // "" when unknown
	RunStatus string // as the REST API tells it; "" when unknown
	InThisRun bool   // it was stored in the present workflow run

	// Notices are for people: what was passed over and why.
	Notices []string
	// Warning says in Auto mode why nothing could be looked for; "" if it could.
	Warning string
	// Standing are the artifacts of these names in the present workflow run, oldest
	// first, for Slots.Adopt.
	Standing []artifacts.Artifact
}

// Find looks in the present workflow run, and then in those before it, for the
// newest checkpoint of the key that comes from where this workflow's own runs
// store theirs. Artifacts of another origin are passed over with a notice. A
// newest one that can't be verified is an error, the one that Read returned:
// an older one is never taken instead.
//
// Where nothing can be looked for, Auto finds nothing and says so in
// Found.Warning; the other modes fail with *NoAccess. A service that fails after
// retries is an *Unavailable, two runs that went on with the same checkpoint are a
// *Conflict, and a manifest that does not fit the place where it was found is a
// *checkpoint.Invalid.
func (f *Finder) Find(ctx context.Context, q Query) (*Found, error) {
	s := &search{Finder: f, q: q, left: f.Within, found: &Found{}, runs: map[int64]artifacts.RunInfo{}}
	if s.left <= 0 {
		s.left = lookFor
	}
	err := s.find(ctx)
	s.found.Notices = s.passed.notices()
	var none *NoAccess
	switch {
	case err == nil:
		return s.found, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("look for a checkpoint: %w", ctx.Err())
	case errors.As(err, &none) && q.Mode == Auto:
		s.found.Warning = err.Error() + "; a new run starts"
		return s.found, nil
	}
	return nil, err
}

// Standing returns what stands under the names of a key in the present workflow
// run, oldest first: for a job that does not look for a run to take up, or that
// took up another than the one here. Of the query Key is needed, and with SameIDs
// also RunID, Temp and Read; what can't be read counts as the oldest.
func (f *Finder) Standing(ctx context.Context, q Query) ([]artifacts.Artifact, error) {
	s := &search{Finder: f, q: q, left: lookFor, found: &Found{}}
	if err := s.lookHere(ctx); err != nil || !q.SameIDs {
		return s.found.Standing, err
	}
	ages := map[int64]checkpoint.Manifest{}
	for _, c := range s.here() {
		if o, err := s.read(ctx, c); err == nil {
			ages[c.artifact.ID] = o.manifest
			o.remove()
		}
	}
	s.sortStanding(ages)
	return s.found.Standing, nil
}
