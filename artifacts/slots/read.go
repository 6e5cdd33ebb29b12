package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// maxSize is the largest checkpoint that is downloaded, in bytes.
const maxSize = 512 << 20

// candidate is an artifact whose origin is accepted.
type candidate struct {
	artifact artifacts.Artifact
	stored   artifacts.Stored // where it is not here
	run      artifacts.RunInfo
	here     bool // listed by the results service of the present workflow run
}

// opened is a candidate that was downloaded and verified.
type opened struct {
	candidate
	manifest checkpoint.Manifest
	digest   string
	dir      string
}

func (o *opened) remove() { _ = os.RemoveAll(o.dir) } // the temporary folder goes with the job

// readNewest reads candidates of one workflow run and returns the newest that is
// of the run that is looked for; nil for none.
func (s *search) readNewest(ctx context.Context, group []candidate) (*opened, error) {
	group = s.fresh(group)
	var best *opened
	manifests := map[int64]checkpoint.Manifest{}
	for _, c := range group {
		o, err := s.read(ctx, c)
		if err != nil {
			if best != nil {
				best.remove()
			}
			if gone := new(Gone); errors.As(err, &gone) {
				return nil, err // it has the name
			}
			return nil, fmt.Errorf("%s: %w", c.name(), err)
		}
		manifests[c.artifact.ID] = o.manifest
		switch {
		case !s.wanted(o.manifest) || best != nil && compare(o.manifest, best.manifest) <= 0:
			o.remove()
		default:
			if best != nil {
				best.remove()
			}
			best = o
		}
	}
	if len(group) > 1 && group[0].here {
		s.sortStanding(manifests)
	}
	return best, nil
}

// fresh leaves out what has expired of a group where something has not.
func (s *search) fresh(group []candidate) []candidate {
	rest := slices.DeleteFunc(slices.Clone(group), func(c candidate) bool { return c.stored.Expired })
	if len(rest) == 0 {
		return group
	}
	return rest
}

// sortStanding puts what stands here in the order of age that the manifests tell.
func (s *search) sortStanding(manifests map[int64]checkpoint.Manifest) {
	slices.SortStableFunc(s.found.Existing, func(a, b artifacts.Artifact) int {
		return compare(manifests[a.ID], manifests[b.ID])
	})
}

// compare orders checkpoints of one workflow run by age, the oldest first. Clocks
// are asked only where generations don't tell.
func compare(a, b checkpoint.Manifest) int {
	if a.WorkflowID == b.WorkflowID && a.Generation != b.Generation {
		return cmp.Compare(a.Generation, b.Generation)
	}
	return a.Created.Compare(b.Created)
}

// read downloads a candidate and verifies it.
func (s *search) read(ctx context.Context, c candidate) (*opened, error) {
	if c.stored.Expired {
		return nil, &Gone{Name: c.name()}
	}
	f, err := os.CreateTemp(s.q.Temp, "checkpoint-*.zip")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	size, err := s.download(ctx, c, f)
	if err != nil {
		return nil, s.sorted(c.from(), c.name(), err)
	}
	dir, err := os.MkdirTemp(s.q.Temp, "checkpoint-")
	if err != nil {
		return nil, err
	}
	o := &opened{candidate: c, dir: dir}
	if o.manifest, o.digest, err = s.q.Read(f, size, dir); err == nil {
		err = s.fits(o)
	}
	if err != nil {
		o.remove()
		return nil, err
	}
	return o, nil
}

// from is who has the content of a candidate.
func (c candidate) from() asked {
	if c.here {
		return forHere
	}
	return forDetails
}

func (s *search) download(ctx context.Context, c candidate, f *os.File) (int64, error) {
	if c.here {
		return s.Service.Download(ctx, c.artifact, maxSize, f)
	}
	return s.Archive.Download(ctx, c.stored, maxSize, f)
}

// name says which artifact it is, for people.
func (c candidate) name() string {
	return fmt.Sprintf("artifact %q of %s", c.artifact.Name, runName(c.run.ID, c.run.URL))
}

// runName says which workflow run it is, for people.
func runName(id int64, url string) string {
	switch {
	case id == 0:
		return "an unknown workflow run"
	case url == "":
		return fmt.Sprintf("workflow run %d", id)
	}
	return fmt.Sprintf("workflow run %d (%s)", id, url)
}

// fits checks that a manifest agrees with the place where it was found: a
// checkpoint that was copied there from elsewhere does not count.
func (s *search) fits(o *opened) error {
	m, at := o.manifest, o.artifact.Name
	switch {
	case m.Key != s.q.Key:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it is of the key %q, not of %q", m.Key, s.q.Key)}
	case m.RepositoryID != s.q.RepositoryID && s.q.RepositoryID != 0:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it is of the repository with id %d, not of %d", m.RepositoryID, s.q.RepositoryID)}
	case m.RunID != o.run.ID && o.run.ID != 0:
		return &checkpoint.Invalid{Path: at, What: fmt.Sprintf("it says workflow run %d, but %d stored it", m.RunID, o.run.ID)}
	}
	return nil
}

// isAbsent reports whether an error means that nothing can be seen, as opposed to
// a service that fails.
func isAbsent(err error) bool {
	var none *NoAccess
	return errors.As(err, &none)
}
