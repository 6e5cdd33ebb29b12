package slots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// replace stores under one name, after what is there was deleted. It fails with
// ErrExists where the service still refuses the name.
func (s *Slots) replace(ctx context.Context, at slot, n artifacts.New) (artifacts.Artifact, error) {
	for _, a := range at.entries {
		s.touched[at.name] = true
		if err := s.o.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return artifacts.Artifact{}, fmt.Errorf("delete the oldest checkpoint: %w", err)
		}
	}
	if s.o.Retention > 0 {
		n.Expires = time.Now().Add(s.o.Retention)
	}
	n.Freed = n.Freed && s.touched[n.Name]
	a, err := s.o.Service.Upload(ctx, n)
	return a, s.record(n, a, err)
}

// record notes what came of a store under a name at which nothing was, and returns
// its error.
func (s *Slots) record(n artifacts.New, a artifacts.Artifact, err error) error {
	isOurs := s.touched[n.Name] || wasRetried(err)
	switch {
	case errors.Is(err, artifacts.ErrExists) && !isOurs:
		return &Conflict{Name: n.Name, What: "somebody else in this workflow run is storing it; " + ownKeys}
	case errors.Is(err, artifacts.ErrExists):
		s.touched[n.Name] = true
		return fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	s.touched[n.Name] = true
	s.stored.Add(1)
	if err != nil {
		s.unconfirmed[n.Name] = n.Digest
		return fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	s.add(a)
	delete(s.unconfirmed, n.Name)
	return nil
}

// wasRetried reports whether a refusal came after a request whose answer was lost:
// that one may have taken the name.
func wasRetried(err error) bool {
	var told *forge.Error
	return errors.As(err, &told) && told.Attempts > 1
}
