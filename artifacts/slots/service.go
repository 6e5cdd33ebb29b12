package slots

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
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
	List(name string) artifacts.Pages
	Run(ctx context.Context, id int64) (artifacts.RunInfo, error)
	Jobs(ctx context.Context, run int64) ([]artifacts.JobInfo, error)
	Download(ctx context.Context, s artifacts.Stored, limit int64, f *os.File) (int64, error)
}

// NoAccess says that what other runs stored can't be seen: there is no token, or it
// lacks a permission.
type NoAccess struct {
	Err error // nil when there is no token
	// Act says that it is act that has no API, and no earlier runs either.
	Act bool
}

// Error implements error. It names the permission that is needed.
func (e *NoAccess) Error() string {
	switch {
	case e.Act:
		return fmt.Sprintf("look for a checkpoint: %s; under act there are no earlier workflow runs", e.Err)
	case e.Err == nil:
		return "look for a checkpoint: there is no token; the job's token needs the permission actions: read"
	}
	return fmt.Sprintf("look for a checkpoint: %s; the job's token needs the permission actions: read", e.Err)
}

// Unwrap returns the cause.
func (e *NoAccess) Unwrap() error { return e.Err }

// Unavailable says that a service could not be asked, or could not do its work,
// after retries: nobody knows whether there is a run to take up.
type Unavailable struct {
	Err error // has an *forge.Error inside
}

// Error implements error.
func (e *Unavailable) Error() string { return "look for a checkpoint: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// ErrListTooLong says that what is newest is all of others, and that the list goes on
// beyond what is read of it.
var ErrListTooLong = errors.New("look for a checkpoint: the newest 3,000 artifacts of this name are of other workflows, branches or forks, and there are more")

// Gone says that the newest checkpoint is there no more.
type Gone struct {
	Name string // of the artifact and its workflow run, for people
	Err  error  // what was answered; nil where the list says so
}

// Error implements error.
func (e *Gone) Error() string {
	text := e.Name + " has expired or was deleted"
	var s *forge.Error
	if errors.As(e.Err, &s) {
		text += fmt.Sprintf(" (%s: status %d)", s.Op, s.Status)
	}
	return text
}

// Unwrap returns the cause.
func (e *Gone) Unwrap() error { return e.Err }

// asked is whom a request asks for what.
type asked int

const (
	forHere    asked = iota // the results service of this job, for anything
	forList                 // the API, for a list
	forDetails              // the API, for what is known of something that it has listed
)

// sorted gives an error of a service its kind. Contents that are not what they
// should be keep theirs.
func (s *search) sorted(what asked, name string, err error) error {
	var told *forge.Error
	if errors.Is(err, artifacts.ErrManyPages) {
		return ErrListTooLong
	}
	if err == nil || !errors.As(err, &told) || errors.Is(err, artifacts.ErrDigest) || errors.Is(err, artifacts.ErrTooLarge) {
		return err
	}
	switch told.Kind {
	case forge.Unanswered:
		if s.q.Act && told.Status == 0 {
			return &NoAccess{Err: err, Act: true}
		}
	case forge.Denied:
		if what != forHere && !errors.Is(err, artifacts.ErrRefused) {
			return &NoAccess{Err: err}
		}
	case forge.Missing:
		switch {
		case what == forList && told.Status == http.StatusNotFound:
			return &NoAccess{Err: err}
		case what != forList:
			return &Gone{Name: name, Err: err}
		}
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
