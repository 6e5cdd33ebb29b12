package slots

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// MaxStores is the maximum number of checkpoints that one job stores. GitHub accepts 500 artifacts
// per job, and other steps may store some, too.
const MaxStores = 400

// ErrFull is the error that the job has stored the maximum number of checkpoints.
var ErrFull = fmt.Errorf("this job has stored %d checkpoints, the most it may", MaxStores)

// ownKeys is the advice for two runs that use the same names.
const ownKeys = "give each job and step that runs at the same time its own key"

// Slots are the three artifacts of the present workflow run that store the checkpoints of a key. At
// first, no existing artifact belongs to this run. Only one goroutine at a time may use Slots, but
// Stored may be called at any time.
type Slots struct {
	Service Service
	Place   Place
	// Retention is how long the service keeps a checkpoint; 0 for the default of the service.
	Retention time.Duration

	stored atomic.Int64
	isOurs bool // all three names belong to this run, whatever the service stores there
	// own lists the artifacts that this run has stored, adopted or started to store, oldest first.
	// An upload that the service has not confirmed has no ID. For a while, the service may refuse
	// the name of such an upload although it lists nothing there.
	own []artifacts.Artifact
}

// isSame reports whether an artifact is the given one of this run. Digests are compared if the
// service returns them, because a service that finishes an upload twice creates two artifacts. An
// upload of an earlier process has no name.
func isSame(own, a artifacts.Artifact) bool {
	hasName := own.Name == "" || own.Name == a.Name
	if own.Digest != "" && a.Digest != "" {
		return hasName && own.Digest == a.Digest
	}
	return own.ID == a.ID || own.ID == 0 && hasName
}

// Adopt makes existing artifacts in the slots this run's own, so that they may be replaced:
// artifacts of the run that is resumed, artifacts that existed when a new run began, and artifacts
// that an earlier process of this step has stored or was about to store. For the last, a digest is
// enough. existing is ordered oldest first, like Found.Existing. From then on all three names
// belong to this run, even if an upload of an earlier job was interrupted.
func (s *Slots) Adopt(existing []artifacts.Artifact) {
	s.isOurs = s.isOurs || len(existing) > 0
	s.own = append(s.own, existing...)
}

// Own returns the artifacts that may be replaced, in the form that Adopt accepts.
func (s *Slots) Own() []artifacts.Artifact { return slices.Clone(s.own) }

// Count adds the number of artifacts that an earlier process of this job has stored.
func (s *Slots) Count(stored int) { s.stored.Add(int64(stored)) }

// Stored returns how many artifacts this job has stored, including unconfirmed uploads.
func (s *Slots) Stored() int { return int(s.stored.Load()) }

// Store stores a checkpoint. As long as every save has succeeded, it uses slot generation modulo 3.
// In general it uses the first empty slot from there on, or else the slot with the oldest
// checkpoint. Only that checkpoint is deleted, right before the upload, so that two good
// checkpoints exist at any time once three have been stored.
//
// If a service refuses a name right after its artifact was deleted, the upload is repeated for some
// seconds, and then the next slot is used. Only if that slot contains the second oldest checkpoint
// is the newest one alone during the upload. The newest one itself is never deleted.
//
// content needs its Content, Size and Digest. The error is ErrFull, a *Conflict if another job uses
// the slots, or an error that contains a *forge.Error.
func (s *Slots) Store(ctx context.Context, generation int, content artifacts.NewArtifact) (artifacts.Artifact, error) {
	if s.Stored() >= MaxStores {
		return artifacts.Artifact{}, ErrFull
	}
	slots, err := s.list(ctx)
	if err != nil {
		return artifacts.Artifact{}, err
	}
	var empty, full []slot
	for i := range slots {
		if at := slots[(max(generation, 0)+i)%3]; len(at.entries) > 0 {
			full = append(full, at)
		} else {
			empty = append(empty, at)
		}
	}
	slices.SortStableFunc(full, func(a, b slot) int { return s.age(b) - s.age(a) })
	for _, at := range append(empty, full[:max(0, len(full)-1)]...) {
		var a artifacts.Artifact
		if a, err = s.replace(ctx, at, content); !errors.Is(err, artifacts.ErrExists) {
			return a, err
		}
	}
	return artifacts.Artifact{}, err
}

// slot is a name with the artifacts stored under it, newest first. A re-run can leave several
// artifacts with one name.
type slot struct {
	name    string
	entries []artifacts.Artifact
}

// list lists the slots. It fails if they contain an artifact that is not this run's own.
func (s *Slots) list(ctx context.Context) ([3]slot, error) {
	var slots [3]slot
	for i, name := range s.Place.Names() {
		entries, err := s.Service.List(ctx, name)
		if err != nil {
			return slots, fmt.Errorf("list checkpoints: %w", err)
		}
		for _, a := range slices.Backward(entries) {
			at := slices.IndexFunc(s.own, func(own artifacts.Artifact) bool { return isSame(own, a) })
			if at < 0 {
				return slots, &Conflict{a.Name, a.ID, "another job stored it in this workflow run; " + ownKeys}
			}
			s.own[at].ID, s.own[at].Name = a.ID, a.Name
		}
		slots[i] = slot{name, entries}
	}
	return slots, nil
}

// age returns the position of the slot's artifact in s.own, counted from the newest.
func (s *Slots) age(at slot) int {
	for i, o := range slices.Backward(s.own) {
		if o.ID == at.entries[0].ID {
			return len(s.own) - i
		}
	}
	return len(s.own)
}

// replace stores a checkpoint under a name, after it has deleted the artifacts with this name. It
// fails with ErrExists if the service still refuses the name.
func (s *Slots) replace(ctx context.Context, at slot, n artifacts.NewArtifact) (artifacts.Artifact, error) {
	for _, a := range at.entries {
		if err := s.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return artifacts.Artifact{}, fmt.Errorf("delete the oldest checkpoint: %w", err)
		}
	}
	isOurs := s.isOurs || slices.ContainsFunc(s.own, func(own artifacts.Artifact) bool { return own.Name == at.name })
	n.Name, n.NameFreed = at.name, isOurs
	if s.Retention > 0 {
		n.Expires = time.Now().Add(s.Retention)
	}
	a, err := s.Service.Upload(ctx, n)
	isRefused := errors.Is(err, artifacts.ErrExists)
	told, isTold := errors.AsType[*forge.Error](err)
	wasRetried := isTold && told.Attempts > 1 // the first request, whose answer was lost, may have taken the name
	if isRefused && !isOurs && !wasRetried {
		return a, &Conflict{Name: n.Name, What: "another job in this workflow run is storing it; " + ownKeys}
	}
	if !isRefused {
		s.stored.Add(1)
	}
	s.own = append(s.own, artifacts.Artifact{ID: a.ID, Name: n.Name, Digest: n.Digest})
	if err != nil {
		return a, fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	return a, nil
}

// Service is the results service of the present workflow run, implemented by artifacts.Runtime. Its
// methods may be called concurrently.
type Service interface {
	Upload(context.Context, artifacts.NewArtifact) (artifacts.Artifact, error)
	List(ctx context.Context, name string) ([]artifacts.Artifact, error)
	Delete(context.Context, artifacts.Artifact) error
	Download(ctx context.Context, a artifacts.Artifact, limit int64, f *os.File) (int64, error)
}

// Archive is the REST API, implemented by artifacts.Archive. Its methods may be called
// concurrently.
type Archive interface {
	List(name string) artifacts.NextPage
	ListRun(run int64) artifacts.NextPage
	ListAll(most int) artifacts.NextPage
	Run(ctx context.Context, id int64) (artifacts.RunInfo, error)
	Jobs(ctx context.Context, run int64) ([]artifacts.JobInfo, error)
	Download(ctx context.Context, s artifacts.RunArtifact, limit int64, f *os.File) (int64, error)
}
