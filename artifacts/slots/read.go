package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// candidate is an artifact whose origin is accepted.
type candidate struct {
	artifacts.RunArtifact

	run    artifacts.RunInfo
	here   bool // listed by the results service of the present workflow run
	bySeal bool // accepted only if it is sealed with the key of this job
}

// name describes the artifact for users.
func (c candidate) name() string {
	return fmt.Sprintf("artifact %q of %s", c.Name, runName(c.run.ID, c.run.URL))
}

// runName describes a workflow run for users.
func runName(id int64, url string) string {
	switch {
	case id == 0:
		return "an unknown workflow run"
	case url == "":
		return fmt.Sprintf("workflow run %d", id)
	}
	return fmt.Sprintf("workflow run %d (%s)", id, url)
}

// errUnread is the error that this job can't verify a downloaded candidate.
var errUnread = errors.New("it can't be verified")

// newest reads candidates of one workflow run, newest by id first, and returns the newest
// checkpoint of the requested run, or nil. If ids don't tell which one is the newest, it reads all
// candidates and orders them by their manifests.
func (s *search) newest(ctx context.Context, group []candidate) (best *Found, err error) {
	read := map[int64]*checkpoint.Manifest{}
	isLeft := slices.ContainsFunc(group, func(c candidate) bool { return !c.Expired })
	for _, c := range group {
		if c.Expired && isLeft {
			continue
		}
		f, err := s.read(ctx, c)
		if c.bySeal && errors.Is(err, errUnread) {
			s.skipped.add(c.RunArtifact, c.run.URL, fmt.Sprintf("it belongs to branch %q and is not sealed with this job's state-key", c.run.HeadBranch))
			continue
		}
		if err != nil {
			best.Remove()
			if !isA[*Gone](err) { // contains the name already
				err = fmt.Errorf("%s: %w", c.name(), err)
			}
			return nil, err
		}
		read[c.ID] = f.Manifest
		if s.q.byID() && f.Manifest.Supersedes.WorkflowID == s.q.Mode {
			s.successor = fmt.Sprintf("run %s of %s", f.Manifest.WorkflowID, runName(c.run.ID, c.run.URL))
		}
		isOther := s.q.byID() && s.q.Mode != f.Manifest.WorkflowID
		if isOther || best != nil && compareAge(f.Manifest, best.Manifest) <= 0 {
			f.Remove()
			continue
		}
		best.Remove()
		if best = f; !s.q.SameIDs {
			return best, nil
		}
	}
	if s.q.SameIDs {
		slices.SortStableFunc(group, func(a, b candidate) int {
			if read[a.ID] == nil || read[b.ID] == nil { // it was skipped or has expired
				return 0
			}
			return compareAge(read[b.ID], read[a.ID])
		})
	}
	return best, nil
}

// compareAge orders checkpoints of one workflow run by age, oldest first. It compares times only if
// the generations don't decide.
func compareAge(a, b *checkpoint.Manifest) int {
	if a.WorkflowID == b.WorkflowID && a.Generation != b.Generation {
		return cmp.Compare(a.Generation, b.Generation)
	}
	return a.Created.Compare(b.Created)
}

// read downloads a candidate and verifies it.
func (s *search) read(ctx context.Context, c candidate) (*Found, error) {
	if c.Expired {
		return nil, &Gone{Name: c.name()}
	}
	f, err := os.CreateTemp(s.q.Temp, "checkpoint-*.zip")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var size int64
	if c.here { // without a time limit
		size, err = s.Service.Download(ctx, c.Artifact, maxSize, f)
		err = s.classify(ofThisRun, c.name(), err)
	} else {
		size, err = s.Archive.Download(ctx, c.RunArtifact, maxSize, f)
		err = s.classify(ofListed, c.name(), err)
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.q.Temp, "checkpoint-")
	if err != nil {
		return nil, err
	}
	found := &Found{
		Dir: dir, Artifact: c.Artifact, RunID: c.run.ID, RunURL: c.run.URL, RunStatus: c.run.Status, InThisRun: c.run.ID == s.q.Job.RunID,
	}
	m, digest, err := s.q.Read(f, size, dir)
	if found.Manifest, found.Digest = &m, digest; err == nil {
		err = s.q.checkPlace(found)
	}
	if err != nil && c.bySeal {
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	if err != nil {
		found.Remove()
		return nil, err
	}
	return found, nil
}

// byID reports whether the query names a run by its id.
func (q *Query) byID() bool { return q.Mode != Auto && q.Mode != Require }

// checkPlace checks that a manifest agrees with the place where it was found. A checkpoint that was
// copied from elsewhere is not accepted.
func (q *Query) checkPlace(f *Found) error {
	m, at := f.Manifest, f.Artifact.Name
	switch {
	case m.Key != q.Key:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it belongs to the key %q, not to %q", m.Key, q.Key)}
	case m.PartName() != q.Part.Name:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it belongs to the part %q of a matrix, not to %q", m.PartName(), q.Part.Name)}
	case m.RepositoryID != q.Origin.RepositoryID && q.Origin.RepositoryID != 0:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it belongs to the repository with id %d, not to %d", m.RepositoryID, q.Origin.RepositoryID)}
	case m.RunID != f.RunID && f.RunID != 0:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it names workflow run %d, but %d stored it", m.RunID, f.RunID)}
	}
	return nil
}

// within calls do, which may make requests in parallel, with a time limit of requestFor or the rest
// of the search's time, whichever is shorter.
func within[T any](ctx context.Context, s *search, do func(context.Context) (T, error)) (T, error) {
	began, limit := time.Now(), min(requestFor, s.left)
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no usable answer came within %v", limit))
	defer cancel()
	answer, err := do(limited)
	s.left = max(0, s.left-time.Since(began))
	return answer, err
}

// stored lists all artifacts of the present workflow run, newest first.
func (s *search) stored(ctx context.Context) ([]artifacts.Artifact, error) {
	list, err := within(ctx, s, func(ctx context.Context) ([]artifacts.Artifact, error) { return s.Service.List(ctx, "") })
	return list, s.classify(ofThisRun, "", err)
}

// run requests a workflow run, once for each id.
func (s *search) run(ctx context.Context, id int64) (artifacts.RunInfo, error) {
	if known, ok := s.runs[id]; ok {
		return known, nil
	}
	info, err := within(ctx, s, func(ctx context.Context) (artifacts.RunInfo, error) { return s.Archive.Run(ctx, id) })
	if err == nil {
		s.runs[id] = info
	}
	return info, err
}

// maxSize is the size in bytes of the largest checkpoint that is downloaded.
const maxSize = 512 << 20

// subject is the kind of data that a request asks for.
type subject int

const (
	ofThisRun subject = iota // anything from the results service of this job
	ofLists                  // a list of the API
	ofListed                 // an item of a list of the API
)

// classify wraps an error of a service in the type for its kind. name describes the requested item
// for users. Errors about invalid contents stay unchanged.
func (s *search) classify(what subject, name string, err error) error {
	var told *forge.Error
	isContent := errors.Is(err, artifacts.ErrDigest) || errors.Is(err, artifacts.ErrTooLarge)
	switch {
	case errors.Is(err, artifacts.ErrTooManyPages):
		return ErrListTooLong
	case isContent || !errors.As(err, &told):
		return err
	}
	isRefused := errors.Is(err, artifacts.ErrRefused) // by the storage service, which has no permissions
	isList404 := what == ofLists && told.Status == http.StatusNotFound
	switch {
	case s.q.Act && told.Kind == forge.Unanswered && told.Status == 0:
		return &NoAccess{Err: err, Act: true}
	case told.Kind == forge.Denied && what != ofThisRun && !isRefused, isList404:
		return &NoAccess{Err: err}
	case told.Kind == forge.Missing && what != ofLists:
		return &Gone{Name: name, Err: err}
	}
	return &Unavailable{Err: err}
}
