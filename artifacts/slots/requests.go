package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// requests asks the services, within the time that there is for a search.
type requests struct {
	service Service
	archive Archive
	act     bool
	left    time.Duration // for all requests but downloads
	runs    map[int64]artifacts.RunInfo
}

// within makes requests at the same time, each for a minute at most, within the time
// that is left.
func within[T any](ctx context.Context, r *requests, do func(context.Context) (T, error)) (T, error) {
	began, limit := time.Now(), min(requestFor, r.left)
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no usable answer came within %v", limit))
	defer cancel()
	answer, err := do(limited)
	r.left = max(0, r.left-time.Since(began))
	return answer, err
}

// existing lists what the present workflow run has under the names.
func (r *requests) existing(ctx context.Context, names [3]string) ([3][]artifacts.Artifact, error) {
	answers, err := within(ctx, r, func(ctx context.Context) (answers [3][]artifacts.Artifact, err error) {
		var errs [3]error
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() { answers[i], errs[i] = r.service.List(ctx, name) })
		}
		all.Wait()
		return answers, cmp.Or(errs[:]...)
	})
	return answers, r.classify(ofThisRun, "", err)
}

// all lists everything that the present workflow run has.
func (r *requests) all(ctx context.Context) (list []artifacts.Artifact, err error) {
	list, err = within(ctx, r, func(ctx context.Context) ([]artifacts.Artifact, error) { return r.service.List(ctx, "") })
	return list, r.classify(ofThisRun, "", err)
}

// run asks for a workflow run, once for each.
func (r *requests) run(ctx context.Context, id int64) (artifacts.RunInfo, error) {
	if known, ok := r.runs[id]; ok {
		return known, nil
	}
	info, err := within(ctx, r, func(ctx context.Context) (artifacts.RunInfo, error) { return r.archive.Run(ctx, id) })
	if err == nil {
		r.runs[id] = info
	}
	return info, err
}

// maxSize is the largest checkpoint that is downloaded, in bytes.
const maxSize = 512 << 20

// download fetches the content of a candidate, however long that takes.
func (r *requests) download(ctx context.Context, c candidate, f *os.File) (size int64, err error) {
	if c.here {
		size, err = r.service.Download(ctx, c.Artifact, maxSize, f)
		return size, r.classify(ofThisRun, c.name(), err)
	}
	size, err = r.archive.Download(ctx, c.Stored, maxSize, f)
	return size, r.classify(ofListed, c.name(), err)
}

// subject is what a request asks for.
type subject int

const (
	ofThisRun subject = iota // anything, of the results service of this job
	ofLists                  // a list, of the API
	ofListed                 // something that a list of the API has
)

// classify gives an error of a service its kind. name says what was asked for, for
// people. Contents that are not what they should be keep their own errors.
func (r *requests) classify(what subject, name string, err error) error {
	var told *forge.Error
	isContent := errors.Is(err, artifacts.ErrDigest) || errors.Is(err, artifacts.ErrTooLarge)
	switch {
	case errors.Is(err, artifacts.ErrManyPages):
		return ErrListTooLong
	case isContent || !errors.As(err, &told):
		return err
	}
	isRefused := errors.Is(err, artifacts.ErrRefused) // by the storage, which knows no permissions
	isList404 := what == ofLists && told.Status == http.StatusNotFound
	switch {
	case r.act && told.Kind == forge.Unanswered && told.Status == 0:
		return &NoAccess{Err: err, Act: true}
	case told.Kind == forge.Denied && what != ofThisRun && !isRefused, isList404:
		return &NoAccess{Err: err}
	case told.Kind == forge.Missing && what != ofLists:
		return &Gone{Name: name, Err: err}
	}
	return &Unavailable{Err: err}
}
