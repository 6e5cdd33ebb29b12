package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"
)

// fakeService stores artifacts in memory. It is slow and fails as configured.
type fakeService struct {
	takes time.Duration

	mu    sync.Mutex
	list  []artifacts.Artifact
	bytes map[int64][]byte
	fails int
}

func (s *fakeService) Upload(_ context.Context, n artifacts.NewArtifact) (artifacts.Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := io.ReadAll(io.NewSectionReader(n.Content, 0, n.Size))
	if err != nil {
		return artifacts.Artifact{}, err
	}
	a := artifacts.Artifact{ID: int64(len(s.bytes) + 1), Name: n.Name, Size: n.Size}
	a.Digest = fmt.Sprintf("digest %d", a.ID)
	s.list, s.bytes[a.ID] = append(s.list, a), data
	return a, nil
}

func (s *fakeService) List(_ context.Context, name string) ([]artifacts.Artifact, error) {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("unavailable")
	}
	return slices.DeleteFunc(slices.Clone(s.list), func(a artifacts.Artifact) bool { return a.Name != name }), nil
}

func (s *fakeService) Delete(_ context.Context, a artifacts.Artifact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(b artifacts.Artifact) bool { return a.ID == b.ID })
	return nil
}

func (s *fakeService) Download(_ context.Context, a artifacts.Artifact, _ int64, f *os.File) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := f.Write(s.bytes[a.ID])
	return int64(n), err
}

func (s *fakeService) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

// claimer returns a claimer for the key of these tests.
func (s *fakeService) claimer(t *testing.T, id string) *slots.Claimer {
	return &slots.Claimer{
		Finder: &slots.Finder{Service: s}, Query: slots.Query{Key: "k", Temp: t.TempDir()},
		Mine:  slots.Claim{ID: id, Key: "k", Holder: "job " + id, RunID: 1, Job: "j"},
		Alive: func(slots.Process) (alive, known bool) { return true, true }, Sleep: forge.Sleep,
	}
}

// promptCounter is a backend that counts its prompts.
type promptCounter struct{ prompts int }

func (s *promptCounter) Run(context.Context, runner.Order, func(runner.Progress)) (runner.Answer, error) {
	s.prompts++
	return runner.Answer{}, nil
}

func noWarning(string) {}

func noLoss() {}

// TestPromptsWaitForTheClaim checks that prompts wait for the claim, but for a limited time if the
// service fails, and that the claim is tried until it succeeds.
func TestPromptsWaitForTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{bytes: map[int64][]byte{}, fails: 3}
		var warnings []string
		began := time.Now()
		c := startClaim(s.claimer(t, "only"), func(text string) { warnings = append(warnings, text) }, noLoss)
		agent := &promptCounter{}
		if _, err := Guard(&artifactLease{claim: c}, agent).Run(t.Context(), runner.Order{}, nil); err != nil || time.Since(began) != maxWait {
			t.Errorf("the first prompt: got %v after %v, want a start after %v", err, time.Since(began), maxWait)
		}
		if err := c.check(t.Context()); err != nil || s.count() != 0 {
			t.Errorf("before the claim is stored: got %v and %d claims, want neither", err, s.count())
		}
		c.wait(t.Context(), time.Hour)
		if took := time.Since(began); took != 35*time.Second || s.count() != 1 || len(warnings) != 1 {
			t.Errorf("got %d claims after %v, with %q; want one after 35s, with one warning", s.count(), took, warnings)
		}
		if _, err := Guard(&artifactLease{claim: c}, agent).Run(t.Context(), runner.Order{}, nil); err != nil || agent.prompts != 2 {
			t.Errorf("the second prompt: got %v after %d prompts, want 2", err, agent.prompts)
		}
	})
}

// TestLostKeyIsNoticedBeforeStoring checks that a lost key is noticed before something is stored.
func TestLostKeyIsNoticedBeforeStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{bytes: map[int64][]byte{}}
		first := startClaim(s.claimer(t, "first"), noWarning, noLoss)
		first.wait(t.Context(), time.Hour)
		s.list = nil
		second := startClaim(s.claimer(t, "second"), noWarning, noLoss)
		second.wait(t.Context(), time.Hour)
		for range 2 {
			assert.Check(t, first.check(t.Context()) != nil, "the first, after the second took its key: got no error, want a conflict")
		}
		assert.Check(t, is.Equal(len(first.lostKey), 1), "requests to end the run")
	})
}

// TestReleaseStopsClaiming checks that release ends the attempts to claim a key while the service
// fails.
func TestReleaseStopsClaiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeService{bytes: map[int64][]byte{}, fails: 1000}
		c := startClaim(s.claimer(t, "only"), noWarning, noLoss)
		time.Sleep(time.Hour)
		assert.Check(t, c.release(t.Context()) != nil, "from a service that is unavailable: got no error, want one")
	})
}
