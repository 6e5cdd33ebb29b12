package slots_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/internal/forge"
)

const key = "ci.yml-issue-7"

// noWait replaces forge.Sleep and returns at once.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func runtimeOf(t *testing.T, s *artifactstest.Server, run int64) *artifacts.Runtime {
	t.Helper()
	return waitingRuntime(t, s, run, noWait)
}

// waitingRuntime returns a client that uses sleep to wait between two attempts of a request.
func waitingRuntime(t *testing.T, s *artifactstest.Server, run int64, sleep func(context.Context, time.Duration) error) *artifacts.Runtime {
	t.Helper()
	r, err := artifacts.NewRuntime(artifacts.Options{URL: s.URL, Token: artifactstest.Token(run), Act: s.Behavior.EmptyDrops, Retrier: forge.Retrier{Sleep: sleep}})
	assert.NilError(t, err)
	return r
}

// names are the names of the checkpoints in these tests.
var names = (slots.Place{Key: key}).Names()

func digestOf(content string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))) }

func slotsOf(service slots.Service) *slots.Slots {
	return &slots.Slots{Service: service, Place: slots.Place{Key: key}}
}

func store(ctx context.Context, s *slots.Slots, generation int) error {
	content := fmt.Sprintf("generation %d", generation)
	_, err := s.Store(ctx, generation, artifacts.NewArtifact{Content: strings.NewReader(content), Size: int64(len(content)), Digest: digestOf(content)})
	return err
}

// manners are the services that the stand-in can behave like.
var manners = map[string]func(*artifactstest.Server){
	"github": func(*artifactstest.Server) {},
	"gitea":  (*artifactstest.Server).AsGitea,
	"act":    (*artifactstest.Server).AsAct,
}

// TestForeignArtifactsAreAConflict checks that artifacts of other jobs in the slots are a conflict
// and are not deleted.
func TestForeignArtifactsAreAConflict(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(s *artifactstest.Server)
	}{
		{"slot to be written", func(s *artifactstest.Server) {
			s.Put(artifactstest.Artifact{Run: 7, Name: names[2]})
		}},
		{"another slot", func(s *artifactstest.Server) {
			s.Put(artifactstest.Artifact{Run: 7, Name: names[0]})
		}},
		{"second of one name", func(s *artifactstest.Server) {
			s.Put(artifactstest.Artifact{Run: 7, Name: names[1], Content: []byte("generation 1 of another")})
		}},
		{"in the place of ours, with its id", func(s *artifactstest.Server) {
			s.Replaces, s.Behavior.SameIDs = true, true
			s.Put(artifactstest.Artifact{Run: 7, Name: names[1], Content: []byte("evil")})
		}},
		{"being stored", func(s *artifactstest.Server) {
			s.Fail(artifactstest.Fault{Op: "CreateArtifact", Times: 9, Status: 409, Body: `{"msg":"exists"}`})
		}},
	} {
		s := artifactstest.New(t)
		rotated := slotsOf(runtimeOf(t, s, 7))
		assert.NilError(t, store(t.Context(), rotated, 1))
		tt.spoil(s)
		before := len(s.All())
		err := store(t.Context(), rotated, 2)
		var conflict *slots.Conflict
		assert.Check(t, errors.As(err, &conflict), "%s: %v, want a *Conflict that names the artifact", tt.name, err)
		assert.Check(t, strings.HasPrefix(conflict.Name, "raymond-"+key), "%s: %v, want a *Conflict that names the artifact", tt.name, err)
		after := len(s.All())
		assert.Check(t, is.Equal(after, before), "%s: %d artifacts before, %d after", tt.name, before, after)
	}
}

// TestAdoptedArtifactsAreReplaced checks that adopted artifacts are replaced, oldest first, even if
// several have the same name.
func TestAdoptedArtifactsAreReplaced(t *testing.T) {
	s := artifactstest.New(t)
	for i, g := range []int{2, 3, 4, 5} {
		s.Put(artifactstest.Artifact{Run: 7, Name: names[(i+2)%3], Content: fmt.Appendf(nil, "generation %d", g)})
	}
	r := runtimeOf(t, s, 7)
	standing, err := (&slots.Finder{Service: r}).Existing(t.Context(), slots.Query{Key: key})
	assert.NilError(t, err, "Existing = %v, %v", standing, err)
	assert.Assert(t, is.Len(standing, 4), "Existing = %v, %v", standing, err)
	rotated := slotsOf(r)
	rotated.Adopt(standing)
	assert.NilError(t, store(t.Context(), rotated, 6))
	got := generations(s)
	assert.Check(t, is.DeepEqual(got, []int{2, 4, 5, 6}), "after generation 6: %v stand", got)
	for g := 7; g <= 9; g++ {
		assert.NilError(t, store(t.Context(), rotated, g))
	}
	got = generations(s)
	assert.Check(t, is.DeepEqual(got, []int{7, 8, 9}), "generations %v stand", got)
}

// hooked is a service that calls before ahead of each upload.
type hooked struct {
	slots.Service
	before func(artifacts.NewArtifact)
}

func (h hooked) Upload(ctx context.Context, n artifacts.NewArtifact) (artifacts.Artifact, error) {
	h.before(n)
	return h.Service.Upload(ctx, n)
}

// TestOwnRefusedNameIsNoConflict checks that a refused name is not a conflict if an earlier
// process, or an earlier request whose answer was lost, has taken it.
func TestOwnRefusedNameIsNoConflict(t *testing.T) {
	for _, isLost := range []bool{false, true} {
		s := artifactstest.New(t)
		rotated := slotsOf(runtimeOf(t, s, 7))
		if isLost {
			s.Fail(artifactstest.Fault{Op: "CreateArtifact", Times: 1, Status: 502})
		} else {
			rotated.Adopt([]artifacts.Artifact{{Digest: digestOf("what it was storing")}})
		}
		s.Fail(artifactstest.Fault{Op: "CreateArtifact", Times: 1, Status: 409, Body: `{"msg":"exists"}`})
		assert.Check(t, store(t.Context(), rotated, 4), "an answer was lost: %t", isLost)
	}
}

func TestJobStoresAtMost400(t *testing.T) {
	s := artifactstest.New(t)
	rotated := slotsOf(runtimeOf(t, s, 7))
	rotated.Count(398)
	for g, want := range []error{nil, nil, slots.ErrFull, slots.ErrFull} {
		assert.Check(t, is.ErrorIs(store(t.Context(), rotated, 399+g), want), "checkpoint %d of the job", 399+g)
	}
	if rotated.Stored() != slots.MaxStores || len(s.All()) != 2 {
		t.Errorf("%d counted, %d artifacts, want %d and 2", rotated.Stored(), len(s.All()), slots.MaxStores)
	}
}

func TestRetentionIsPassedOn(t *testing.T) {
	const retention = 14 * 24 * time.Hour
	rotated := slotsOf(hooked{runtimeOf(t, artifactstest.New(t), 7), func(n artifacts.NewArtifact) {
		left := time.Until(n.Expires)
		assert.Check(t, left > retention-time.Minute && left <= retention, "it expires in %v, want 14 days", left)
	}})
	rotated.Retention = retention
	assert.NilError(t, store(t.Context(), rotated, 1))
}

func generationOf(a artifactstest.Artifact) int {
	g := 0
	_, _ = fmt.Sscanf(string(a.Content), "generation %d", &g) // 0 for other content
	return g
}

// TestRefusedNameIsSkipped checks that the next slot is used if a name stays refused, that the
// newest checkpoint is never deleted, and that the rotation continues with the other names.
func TestRefusedNameIsSkipped(t *testing.T) {
	s := artifactstest.New(t)
	rotated := slotsOf(runtimeOf(t, s, 7))
	for g := 1; g <= 4; g++ {
		assert.NilError(t, store(t.Context(), rotated, g))
	}
	newest, drops := 4, 0
	s.OnChange = func(all []artifactstest.Artifact) {
		if drops++; drops == 2 {
			s.Behavior.RefusalsAfterDelete = 0 // the first deleted name stays refused
		}
		assert.Check(t, slices.ContainsFunc(all, func(a artifactstest.Artifact) bool { return generationOf(a) >= newest }), "generation %d, the newest, was deleted", newest)
	}
	s.Behavior.RefusalsAfterDelete = 1000
	assert.NilError(t, store(t.Context(), rotated, 5), "generation 5")
	newest = 5
	got := generations(s)
	assert.Check(t, is.DeepEqual(got, []int{4, 5}), "generations %v stand", got)
	assert.Check(t, is.Equal(s.All()[1].Name, names[(5+1)%3]), "want generation 5 in the next slot")
	for g := 6; g <= 9; g++ {
		assert.NilError(t, store(t.Context(), rotated, g), "generation %d", g)
		newest = g
	}
	got = generations(s)
	assert.Check(t, is.DeepEqual(got, []int{8, 9}), "generations %v stand", got)
}

func generations(s *artifactstest.Server) []int {
	var list []int
	for _, a := range s.All() {
		list = append(list, generationOf(a))
	}
	slices.Sort(list)
	return list
}
