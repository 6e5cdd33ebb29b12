package slots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// fill stores under one name, after what stands there was deleted. It fails with
// ErrExists where the service holds the name all the same.
func (s *Slots) fill(ctx context.Context, at slot, content io.ReaderAt, size int64) (artifacts.Artifact, error) {
	for _, a := range at.entries {
		s.touched[at.name] = true
		if err := s.o.Service.Delete(ctx, a); err != nil && !forge.IsMissing(err) {
			return artifacts.Artifact{}, fmt.Errorf("delete the oldest checkpoint: %w", err)
		}
	}
	sent := &digested{content: content, sum: sha256.New()}
	n := artifacts.New{Name: at.name, Content: sent, Size: size}
	if s.o.Retention > 0 {
		n.Expires = s.o.Now().Add(s.o.Retention)
	}
	return s.upload(ctx, n, sent)
}

// upload stores under a name at which nothing stands, and keeps the books.
func (s *Slots) upload(ctx context.Context, n artifacts.New, sent *digested) (artifacts.Artifact, error) {
	a, err := s.o.Service.Upload(ctx, n)
	switch {
	case errors.Is(err, artifacts.ErrExists) && !s.touched[n.Name] && !wasRetried(err):
		return a, &Conflict{Name: n.Name, What: "somebody else in this workflow run is storing it; " + ownKeys}
	case errors.Is(err, artifacts.ErrExists):
		s.touched[n.Name] = true
		return a, fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	s.touched[n.Name] = true
	s.stored.Add(1)
	if err != nil {
		if sent.read == n.Size {
			s.doubtful[n.Name] = "sha256:" + hex.EncodeToString(sent.sum.Sum(nil))
		}
		return a, fmt.Errorf("store checkpoint %q: %w", n.Name, err)
	}
	s.learn(a)
	delete(s.doubtful, n.Name)
	return a, nil
}

// wasRetried reports whether a refusal came after a request whose answer was lost:
// that one may have taken the name.
func wasRetried(err error) bool {
	var s *forge.Error
	return errors.As(err, &s) && s.Attempts > 1
}

// digested works out the digest of a content while it is read from its beginning
// on.
type digested struct {
	content io.ReaderAt
	sum     hash.Hash
	read    int64
}

// ReadAt implements io.ReaderAt.
func (d *digested) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.content.ReadAt(p, at)
	if at == d.read {
		d.sum.Write(p[:n])
		d.read += int64(n)
	}
	return n, err
}
