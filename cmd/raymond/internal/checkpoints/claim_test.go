package checkpoints

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

// service stores artifacts in memory. It is slow and fails as configured.
type service struct {
	takes time.Duration

	mu    sync.Mutex
	list  []artifacts.Artifact
	bytes map[int64][]byte
	fails int
}

func (s *service) Upload(_ context.Context, n artifacts.NewArtifact) (artifacts.Artifact, error) {
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

func (s *service) List(_ context.Context, name string) ([]artifacts.Artifact, error) {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("out of order")
	}
	return slices.DeleteFunc(slices.Clone(s.list), func(a artifacts.Artifact) bool { return a.Name != name }), nil
}

func (s *service) Delete(_ context.Context, a artifacts.Artifact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(b artifacts.Artifact) bool { return a.ID == b.ID })
	return nil
}

func (s *service) Download(_ context.Context, a artifacts.Artifact, _ int64, f *os.File) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := f.Write(s.bytes[a.ID])
	return int64(n), err
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

// claimer returns a claimer for the key of these tests.
func (s *service) claimer(t *testing.T, id string) *slots.Claimer {
	return &slots.Claimer{
		Finder: &slots.Finder{Service: s}, Query: slots.Query{Key: "k", Temp: t.TempDir()},
		Mine:  slots.Claim{ID: id, Key: "k", Holder: "job " + id, RunID: 1, Job: "j"},
		Alive: func(slots.Process) (alive, known bool) { return true, true }, Sleep: forge.Sleep,
	}
}

// spoken is a backend that counts its prompts.
type spoken struct{ prompts int }

func (s *spoken) Run(context.Context, runner.Order, func(runner.Progress)) (runner.Answer, error) {
	s.prompts++
	return runner.Answer{}, nil
}

func noWarning(string) {}

func noLoss() {}

// TestFirstClaimGetsTheKey checks that the first claim gets the key, and that the second run learns
// this in all ways: it may not store anything, no prompt starts, and it gets a request to end.
func TestFirstClaimGetsTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{bytes: map[int64][]byte{}}
		first := StartClaim(s.claimer(t, "first"), noWarning, noLoss)
		first.Wait(t.Context(), time.Hour)
		lost := 0
		second := StartClaim(s.claimer(t, "second"), noWarning, func() { lost++ })
		second.Wait(t.Context(), time.Hour)
		synctest.Wait()

		var conflict *slots.Conflict
		if err := second.Check(t.Context()); !errors.As(err, &conflict) || second.Conflict() == nil || lost != 1 {
			t.Errorf("the second: got %v and %v, told %d times; want a conflict, once", err, second.Conflict(), lost)
		}
		select {
		case why := <-second.Asked():
			assert.Check(t, is.Equal(why, `a conflict about the key "k"`), "why the run is to end")
		default:
			t.Error("the run is not asked to end")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var failure *runner.Failure
		agent := &spoken{}
		if _, err := second.Guard(agent).Run(ctx, runner.Order{}, nil); !errors.As(err, &failure) || failure.Class != runner.Stopped || agent.prompts > 0 {
			t.Errorf("a prompt of the second: got %v after %d prompts, want it stopped before the first", err, agent.prompts)
		}

		if err := errors.Join(first.Check(t.Context()), second.Release(t.Context())); err != nil || s.count() != 1 {
			t.Errorf("the first, after the second gave up: got %v and %d claims, want its own", err, s.count())
		}
		if err := first.Release(t.Context()); err != nil || s.count() != 0 {
			t.Errorf("after the first gave it up: got %v and %d claims, want none", err, s.count())
		}
	})
}

// TestPromptsWaitForTheClaim checks that prompts wait for the claim, but for a limited time if the
// service fails, and that the claim is tried until it succeeds.
func TestPromptsWaitForTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{bytes: map[int64][]byte{}, fails: 3}
		var warnings []string
		began := time.Now()
		c := StartClaim(s.claimer(t, "only"), func(text string) { warnings = append(warnings, text) }, noLoss)
		agent := &spoken{}
		if _, err := c.Guard(agent).Run(t.Context(), runner.Order{}, nil); err != nil || time.Since(began) != maxWait {
			t.Errorf("the first prompt: got %v after %v, want a start after %v", err, time.Since(began), maxWait)
		}
		if err := c.Check(t.Context()); err != nil || s.count() != 0 {
			t.Errorf("before the claim stands: got %v and %d claims, want neither", err, s.count())
		}
		c.Wait(t.Context(), time.Hour)
		if took := time.Since(began); took != 35*time.Second || s.count() != 1 || len(warnings) != 1 {
			t.Errorf("got %d claims after %v, with %q; want one after 35s, with one warning", s.count(), took, warnings)
		}
		if _, err := c.Guard(agent).Run(t.Context(), runner.Order{}, nil); err != nil || agent.prompts != 2 {
			t.Errorf("the second prompt: got %v after %d prompts, want 2", err, agent.prompts)
		}
	})
}

// TestLostKeyIsNoticedBeforeStoring checks that a lost key is noticed before something is stored.
func TestLostKeyIsNoticedBeforeStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{bytes: map[int64][]byte{}}
		first := StartClaim(s.claimer(t, "first"), noWarning, noLoss)
		first.Wait(t.Context(), time.Hour)
		s.list = nil
		second := StartClaim(s.claimer(t, "second"), noWarning, noLoss)
		second.Wait(t.Context(), time.Hour)
		for range 2 {
			assert.Check(t, first.Check(t.Context()) != nil, "the first, after somebody took its key: got no error, want a conflict")
		}
		assert.Check(t, is.Equal(len(first.Asked()), 1), "times that the run is asked to end")
	})
}

// TestReleaseStopsClaiming checks that Release ends the attempts to claim a key while the service
// fails.
func TestReleaseStopsClaiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{bytes: map[int64][]byte{}, fails: 1000}
		c := StartClaim(s.claimer(t, "only"), noWarning, noLoss)
		time.Sleep(time.Hour)
		assert.Check(t, c.Release(t.Context()) != nil, "from a service that is out of order: got no error, want one")
	})
}
