package slots_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/state"
)

const cent = state.Dollar / 100

// spend stores the spending of a job of a workflow run, and returns the names of the artifacts.
func (s *scene) spend(run int64, x slots.Spending) (names []string) {
	s.t.Helper()
	if x.Workflow == "" {
		x.Workflow = ownFile
	}
	x.Job.RunID, x.Job.ID = run, "build"
	err := x.Store(s.t.Context(), runtimeOf(s.t, s.Server, run), time.Time{}, func(name string) error {
		names = append(names, name)
		return nil
	})
	assert.NilError(s.t, err)
	return names
}

// spent returns the spending that a job of workflow run 100 finds.
func (s *scene) spent(q slots.Query) slots.Spent {
	s.t.Helper()
	got, err := s.finder().Spent(s.t.Context(), q, time.Now().Add(-24*time.Hour))
	assert.NilError(s.t, err)
	return got
}

// TestSpendingIsAddedUp checks the sums for the key and for the workflow file over all workflow
// runs in the period. Two equal amounts of one job count twice.
func TestSpendingIsAddedUp(t *testing.T) {
	behaving(t, func(s *scene) {
		s.addRun(101, nil)
		s.addRun(102, nil)
		first := s.spend(100, slots.Spending{Key: key, USD: 20 * cent})
		second := s.spend(100, slots.Spending{Key: key, USD: 20 * cent})
		s.spend(101, slots.Spending{Key: key, USD: 1, Part: "0123abcd"}) // rounded up to a micro-dollar
		s.spend(102, slots.Spending{Key: "another", USD: 3 * cent})
		s.spend(102, slots.Spending{Key: key, USD: 5 * cent, Workflow: ".github/workflows/other.yml"})
		s.put(101, 1, nil)

		q := s.query("auto")
		want := slots.Spent{Key: 40*cent + 1000, File: 43*cent + 1000}
		assert.Check(t, is.Equal(s.spent(q), want))
		q.Origin.ResumeFrom = []string{"other.yml"}
		want.Key += 5 * cent
		assert.Check(t, is.Equal(s.spent(q), want), "with resume-from")
		if len(first) != 1 || !strings.HasSuffix(first[0], "-200000-100-1-build") || len(second) != 1 || second[0] != first[0]+"~2" {
			t.Errorf("names: got %q and %q", first, second)
		}
	})
}

// TestForeignSpendingDoesNotCount checks that spending of forks doesn't count, nor names that this
// program would not write or that name another workflow run than the artifact's.
func TestForeignSpendingDoesNotCount(t *testing.T) {
	behaving(t, func(s *scene) {
		s.addRun(101, func(r *artifactstest.Run) {
			r.Event, r.HeadRepository, r.HeadBranch = "pull_request", 99, "theirs"
		})
		s.addRun(102, nil)
		own := s.spend(102, slots.Spending{Key: key, USD: cent})[0]
		s.spend(101, slots.Spending{Key: key, USD: 900 * state.Dollar})
		forge := func(old, forged string) {
			name := strings.Replace(own, old, forged, 1)
			assert.Assert(t, name != own, "%q is not in %q", old, own)
			s.Put(artifactstest.Artifact{Run: 102, Name: name})
		}
		forge("-10000-", "--10000-")
		forge("-10000-", "-0-")
		forge("-10000-", "-1e9-")
		forge("-10000-", "-9999999999999999999999-")
		forge("-10000-", "-1000000000000001-")
		forge("-102-", "-100-")
		forge("-102-", "-99999999999999999999-")
		forge("-build", "-")
		forge("raymond-spent-", "raymond-spent-00")
		want := slots.Spent{Key: cent, File: cent}
		assert.Check(t, is.Equal(s.spent(s.query("auto")), want))
	})
}

// TestAtMostTwentyPagesAreRead checks that at most twenty pages are read, newest first, that the
// result says if something was left out, and that no artifacts before the period are read.
func TestAtMostTwentyPagesAreRead(t *testing.T) {
	s := newScene(t)
	s.addRun(101, nil)
	fill := func(n int, created time.Time) {
		for i := range n {
			s.Put(artifactstest.Artifact{Run: 101, Name: fmt.Sprint("other-", n, "-", i), Created: created})
		}
		s.spend(101, slots.Spending{Key: key, USD: cent})
	}
	read := func() (slots.Spent, int) {
		before := len(s.Requests())
		got := s.spent(s.query("auto"))
		return got, strings.Count(strings.Join(s.Requests()[before:], "\n"), "/actions/artifacts?")
	}
	fill(3000, time.Now().Add(-48*time.Hour))
	if got, pages := read(); pages > 3 || got.Minimum != "" || got.Key != cent {
		t.Errorf("got %+v after %d pages, want three at most, since the rest is old", got, pages)
	}
	fill(2500, time.Time{})
	if got, pages := read(); pages != 20 || got.Minimum == "" || got.Key != cent {
		t.Errorf("got %+v after %d pages, want the newer one alone after 20, and that there may be more", got, pages)
	}
}

// TestSpendingWithoutTheAPI checks that without the permission, only the spending of the present
// workflow run counts, and the result is marked as a minimum, except under act, which has no other
// runs. A service that fails is an error.
func TestSpendingWithoutTheAPI(t *testing.T) {
	s := newScene(t)
	s.spend(100, slots.Spending{Key: key, USD: cent})
	since := time.Now().Add(-time.Hour)
	want := slots.Spent{Key: cent, File: cent}
	s.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 1, Status: 403})
	got := s.spent(s.query("auto"))
	assert.Check(t, is.Contains(got.Minimum, "actions: read"), "without the permission: got %+v, want it named", got)
	got.Minimum = ""
	assert.Check(t, is.Equal(got, want), "without the permission")
	none := &slots.Finder{Service: runtimeOf(t, s.Server, 100)}
	if got, err := none.Spent(t.Context(), s.query("auto"), since); err != nil || got.Key != cent || got.Minimum == "" {
		t.Errorf("without a token: got %+v, %v", got, err)
	}
	if got, err := (&slots.Finder{}).Spent(t.Context(), s.query("auto"), since); err != nil || got.Minimum == "" {
		t.Errorf("without any service: got %+v, %v", got, err)
	}

	s.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 99, Status: 503})
	_, err := s.finder().Spent(t.Context(), s.query("auto"), since)
	var down *slots.Unavailable
	assert.Check(t, errors.As(err, &down), "a service that fails: got %v, want it said", err)
	s.Clear()

	s.AsAct()
	s.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 99})
	q := s.query("auto")
	q.Act = true
	act := &slots.Finder{Service: runtimeOf(t, s.Server, 100), Archive: s.archive(true)}
	if got, err := act.Spent(t.Context(), q, since); err != nil || got != want {
		t.Errorf("under act: got %+v, %v, want %+v", got, err, want)
	}
}
