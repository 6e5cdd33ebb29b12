package keep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
)

// Service is the results service of the present workflow run, as
// artifacts.Runtime has it. Its methods may be called at the same time.
type Service interface {
	Upload(context.Context, artifacts.New) (artifacts.Artifact, error)
	List(ctx context.Context, name string) ([]artifacts.Artifact, error)
	Delete(context.Context, artifacts.Artifact) error
	Download(ctx context.Context, a artifacts.Artifact, limit int64, f *os.File) (int64, error)
}

// Archive is the REST API, as artifacts.Archive has it. Its methods may be called
// at the same time.
type Archive interface {
	Find(ctx context.Context, name string) ([]artifacts.Stored, error)
	Run(ctx context.Context, id int64) (artifacts.RunInfo, error)
	Download(ctx context.Context, s artifacts.Stored, limit int64, f *os.File) (int64, error)
}

// NoAccess says that what other runs stored can't be seen: there is no token, it
// lacks a permission, or nobody answers.
type NoAccess struct {
	Err error // nil when there is no token
}

// Error implements error. It names the permission that is needed.
func (e *NoAccess) Error() string {
	why := "there is no token"
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("look for a checkpoint: %s; the job's token needs the permission actions: read", why)
}

// Unwrap returns the cause.
func (e *NoAccess) Unwrap() error { return e.Err }

// Unavailable says that a service answered, but could not do its work, after
// retries.
type Unavailable struct {
	Err error // has an *artifacts.ServiceError inside
}

// Error implements error.
func (e *Unavailable) Error() string { return "look for a checkpoint: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// sorted gives an error of a service its kind. Contents that are not what they
// should be keep theirs.
func sorted(err error) error {
	var s *artifacts.ServiceError
	if err == nil || !errors.As(err, &s) || errors.Is(err, artifacts.ErrDigest) || errors.Is(err, artifacts.ErrTooLarge) {
		return err
	}
	switch s.Status {
	case 0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return &NoAccess{Err: err}
	}
	return &Unavailable{Err: err}
}

// ofEach asks for each of the names at the same time, and returns the answers in
// their order.
func ofEach[T any](names [3]string, ask func(name string) ([]T, error)) ([3][]T, error) {
	var answers [3][]T
	var errs [3]error
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { answers[i], errs[i] = ask(name) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return answers, err
		}
	}
	return answers, nil
}
