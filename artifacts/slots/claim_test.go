package slots_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
)

var now = time.Now().UTC()

// claimer returns a claimer of the key for a job of workflow run 100.
func (s *scene) claimer(job string, edit func(*slots.Claimer)) *slots.Claimer {
	c := &slots.Claimer{
		Finder: &slots.Finder{Service: runtimeOf(s.t, s.Server, 100)}, Query: s.query(slots.Auto),
		Mine:  slots.Claim{ID: "claim of " + job, Key: key, Holder: job, RunID: 100, Attempt: 2, Job: job, Step: "step", Created: now},
		Alive: func(slots.Process) (bool, bool) { return false, false }, Sleep: noWait,
	}
	if edit != nil {
		edit(c)
	}
	return c
}

// TestWhichClaimsAreReplaced checks on every service which claims may be replaced: replaced claims
// are gone, and others are left unchanged.
func TestWhichClaimsAreReplaced(t *testing.T) {
	machine := slots.Process{Machine: "m", PID: 1, Started: "1"}
	alive := func(is bool) func(*slots.Claimer) {
		return func(c *slots.Claimer) {
			c.Alive = func(p slots.Process) (bool, bool) { return is, p.Machine == "m" }
		}
	}
	told := func(status string, err error) func(*slots.Claimer) {
		api := jobsAPI{Archive: newScene(t).archive(false), jobs: []artifacts.JobInfo{{Name: "two", Attempt: 2, Status: status}}, err: err}
		return func(c *slots.Claimer) { c.Finder.Archive = api }
	}
	for name, tt := range map[string]struct {
		theirs func(*slots.Claim)
		ours   func(*slots.Claimer)
		wants  bool // our claim replaces theirs
	}{
		"nothing is known":                {nil, nil, false},
		"an earlier attempt":              {func(c *slots.Claim) { c.Attempt = 1 }, nil, true},
		"a later attempt":                 {func(c *slots.Claim) { c.Attempt = 3 }, nil, false},
		"an earlier step of this job":     {func(c *slots.Claim) { c.Holder, c.Step = "one", "other" }, nil, true},
		"a job that is over":              {nil, told("completed", nil), true},
		"a job that goes on":              {func(c *slots.Claim) { c.Created = now.Add(-99 * time.Hour) }, told("in_progress", nil), false},
		"a process that is gone":          {func(c *slots.Claim) { c.Process = machine }, alive(false), true},
		"a process that is there":         {func(c *slots.Claim) { c.Process, c.Attempt = machine, 1 }, alive(true), false},
		"a process of another machine":    {nil, alive(false), false},
		"before its time is up":           {func(c *slots.Claim) { c.Deadline = time.Now().Add(-5 * time.Minute) }, told("", errors.New("not told")), false},
		"after its time is up":            {func(c *slots.Claim) { c.Deadline = time.Now().Add(-11 * time.Minute) }, told("", errors.New("not told")), true},
		"four days without a deadline":    {func(c *slots.Claim) { c.Created = now.Add(-96 * time.Hour) }, nil, false},
		"over five days without deadline": {func(c *slots.Claim) { c.Created = now.Add(-121 * time.Hour) }, nil, true},
	} {
		behaving(t, func(s *scene) {
			theirs := s.claimer("two", func(c *slots.Claimer) {
				if tt.theirs != nil {
					tt.theirs(&c.Mine)
				}
			})
			assert.NilError(s.t, theirs.Take(s.t.Context()))
			ours := s.claimer("one", tt.ours)
			err := ours.Take(s.t.Context())
			if tt.wants != (err == nil) || !tt.wants && (!isConflict(err) || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), `"two"`)) {
				s.t.Errorf("%s: Take = %v, want success: %t", name, err, tt.wants)
			}
			assert.Check(s.t, errors.Join(theirs.Release(s.t.Context()), ours.Release(s.t.Context())), "%s: Release", name)
			all := s.All()
			assert.Check(s.t, is.Len(all, 0), "%s: left %d artifacts", name, len(all))
		})
	}
}

// TestReleaseRemovesOnlyTheOwnClaim checks that a claim that was replaced notices this by Check,
// and that its Release leaves the other claim alone.
func TestReleaseRemovesOnlyTheOwnClaim(t *testing.T) {
	behaving(t, func(s *scene) {
		one := s.claimer("one", nil)
		two := s.claimer("two", func(c *slots.Claimer) { c.Alive = func(slots.Process) (bool, bool) { return false, true } })
		assert.NilError(s.t, errors.Join(one.Take(s.t.Context()), one.Check(s.t.Context()), two.Take(s.t.Context())))
		err := one.Check(s.t.Context())
		assert.Check(s.t, isConflict(err), "Check of who was replaced = %v, want a conflict", err)
		if err := errors.Join(one.Release(s.t.Context()), two.Check(s.t.Context())); err != nil || len(s.All()) != 1 {
			s.t.Errorf("after the release of who was replaced: %v, %d artifacts; want the other's", err, len(s.All()))
		}
	})
}

// TestRefusedNameWithoutAClaimIsNoConflict checks that a refused name without an existing claim,
// and a claim that can't be downloaded, are errors of the service rather than conflicts.
func TestRefusedNameWithoutAClaimIsNoConflict(t *testing.T) {
	for _, fault := range []artifactstest.Fault{
		{Op: "CreateArtifact", Times: 99, Status: 409}, {Op: "CreateArtifact", Times: 99, Status: 403}, {Op: "content/", Times: 99, Status: 403},
		{Op: "ListArtifacts", Times: 99, Status: 500},
	} {
		s := newScene(t)
		if fault.Op == "content/" {
			assert.NilError(t, s.claimer("two", nil).Take(t.Context()))
		}
		s.Fail(fault)
		if err := s.claimer("one", nil).Take(t.Context()); err == nil || isConflict(err) {
			t.Errorf("%s, status %d: Take = %v, want an error of the service", fault.Op, fault.Status, err)
		}
	}
}

// TestOneOfTwoSimultaneousClaimsWins checks a service that silently replaces artifacts of the same
// name: if two jobs claim the key at once, the replaced one notices it when it reads its claim
// back.
func TestOneOfTwoSimultaneousClaimsWins(t *testing.T) {
	s := newScene(t)
	manners["gitea"](s.Server)
	waits, replaced, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	one := s.claimer("one", func(c *slots.Claimer) {
		c.Sleep = func(context.Context, time.Duration) error { // its claim is stored, and it waits before reading it back
			close(waits)
			<-replaced
			return nil
		}
	})
	two := s.claimer("two", func(c *slots.Claimer) {
		c.Finder.Service = hooked{c.Finder.Service, func(artifacts.NewArtifact) { // it has looked and found no claim
			go func() { first <- one.Take(t.Context()) }()
			<-waits
		}}
	})
	assert.Check(t, two.Take(t.Context()), "who came later: Take")
	close(replaced)
	err := <-first
	assert.Check(t, isConflict(err), "who was replaced: Take = %v", err)
	assert.Check(t, is.ErrorContains(err, `"two"`))
}

// TestClaimsOfOtherWorkflowRuns checks that claims of other workflow runs count if they have this
// origin and are in progress.
func TestClaimsOfOtherWorkflowRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		run   func(*artifactstest.Run)
		wants bool
	}{
		"in progress":            {func(r *artifactstest.Run) { r.Status = "in_progress" }, true},
		"over":                   {nil, false},
		"of a fork":              {func(r *artifactstest.Run) { r.Status, r.HeadRepository = "in_progress", 9 }, false},
		"of another branch":      {func(r *artifactstest.Run) { r.Status, r.HeadBranch = "in_progress", "other" }, false},
		"of another workflow":    {func(r *artifactstest.Run) { r.Status, r.Path = "in_progress", ".github/workflows/x.yml" }, false},
		"queued for another try": {func(r *artifactstest.Run) { r.Status = "queued" }, true},
	} {
		s := newScene(t)
		s.addRun(7, tt.run)
		theirs := s.claimer("two", func(c *slots.Claimer) { c.Finder.Service, c.Mine.RunID = runtimeOf(t, s.Server, 7), 7 })
		assert.NilError(t, theirs.Take(t.Context()))
		ours := s.claimer("one", func(c *slots.Claimer) { c.Finder = s.finder() })
		if err := ours.Take(t.Context()); tt.wants != isConflict(err) || !tt.wants && err != nil {
			t.Errorf("%s: Take = %v, want a conflict: %t", name, err, tt.wants)
		}
	}
	for status, fails := range map[int]bool{401: false, 403: false, 404: false, 500: true} {
		s := newScene(t)
		s.Fail(artifactstest.Fault{Op: "actions/artifacts?", Times: 99, Status: status})
		err := s.claimer("one", func(c *slots.Claimer) { c.Finder = s.finder() }).Take(t.Context())
		assert.Check(t, is.Equal(fails, (err != nil)), "status %d: Take: %v", status, err)
	}
}
