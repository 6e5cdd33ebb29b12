package slots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

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

// download fetches the content of a candidate, without a time limit.
func (s *search) download(ctx context.Context, c candidate, f *os.File) (size int64, err error) {
	if c.here {
		size, err = s.Service.Download(ctx, c.Artifact, maxSize, f)
		return size, s.classify(ofThisRun, c.name(), err)
	}
	size, err = s.Archive.Download(ctx, c.RunArtifact, maxSize, f)
	return size, s.classify(ofListed, c.name(), err)
}

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
