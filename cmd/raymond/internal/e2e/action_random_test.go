//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

// killChain is a run that goes from job to job, each of which is killed.
type killChain struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
	jobs    int
	rests   []invarianttest.IdleMoment // what the forge had before each job
	whole   []invarianttest.Effect     // of an undisturbed run; nil when they are not known
	key     string                     // input state-key
}

// next begins the next job, on another machine; every second one in another
// workflow run.
func (k *killChain) next() *bareJob {
	k.t.Helper()
	rest := invarianttest.IdleMoment{Effects: len(k.done())}
	if all := k.forge.Checkpoints(k.t, k.forge.Keys); len(all) > 0 {
		rest.Run = all[len(all)-1].Run
	}
	if k.jobs > 0 {
		k.rests = append(k.rests, rest)
	}
	j := newJob(k.t, k.forge, k.repo, int64(1+k.jobs/2))
	k.jobs++
	if k.key != "" {
		j.with("state-key", k.key)
	}
	return j.set("SIDE_EFFECTS", k.effects).with("claude-path", sitetest.Stub.Path(k.t), "env", "SIDE_EFFECTS",
		"input", "in", "max-parallel", "1", "budget", "0")
}

// done is what the jobs have done so far, a line an invocation.
func (k *killChain) done() []string { return sitetest.LinesOf(k.t, k.effects) }

// isOver reports whether a job has completed the run, of which the invariants hold then, as for
// a run that nobody kills.
func (k *killChain) isOver(j *bareJob) bool {
	k.t.Helper()
	all := k.forge.Checkpoints(k.t, k.forge.Keys)
	if len(all) == 0 || all[len(all)-1].Manifest.Status != state.Completed {
		return false
	}
	dir, run := all[len(all)-1].Dir, all[len(all)-1].Run // the post part leaves nothing on the machine
	left := k.forge.History.Left(k.t, k.forge.Keys)
	left.Run, left.Effects, left.IdleMoments, left.Undisturbed = run, invarianttest.ParseEffects(k.done()), k.rests, k.whole
	left.Events = sitetest.EventsIn(k.t, filepath.Join(dir, "events.jsonl"))
	left.TempFiles = sitetest.Temporary(j.Temp)
	invarianttest.Want(k.t, left)
	if result, _ := run.Result(); result != "the end" {
		k.t.Errorf("result after %d jobs: got %q, want the end", k.jobs, result)
	}
	return true
}

// newRandomChain is a chain of jobs of the workflow for kills at any moment.
func newRandomChain(t *testing.T) *killChain {
	t.Helper()
	flow := strings.ReplaceAll(sitetest.Killable, "\n-- ", "\n-- wf/")
	return &killChain{t: t, forge: sitetest.NewForge(t), repo: sitetest.Repository(t, flow), effects: filepath.Join(t.TempDir(), "effects")}
}

// TestJobsKilledAtRandomMoments kills the main parts of jobs at any moment. The next job,
// on another machine, carries on with what the post part has stored, until the run comes
// to its end; the invariants hold for all of it.
func TestJobsKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := sitetest.Seed(t)
	whole := newRandomChain(t)
	j := whole.next()
	began := time.Now()
	whole.wantTheEnd(j, j.start())
	took := time.Since(began)
	effects := invarianttest.ParseEffects(whole.done())
	kills := sitetest.Dose(killsOfAChain, 30*killsOfAChain)
	for n := range kills / killsOfAChain {
		t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			for kills := 0; kills < killsOfAChain && !t.Failed(); {
				k := newRandomChain(t)
				k.whole = effects
				if (seed+uint64(n))%2 == 1 {
					k.seal()
				}
				kills += k.killOften(random, took/2, killsOfAChain-kills)
			}
		})
	}
}

// seal has the checkpoints of a chain sealed.
func (k *killChain) seal() {
	k.t.Helper()
	k.key = sitetest.NewStateKey(k.t)
	keys, err := checkpoint.ParseKeys(k.key)
	assert.NilError(k.t, err)
	k.forge.Keys = keys
}

// killsOfAChain is how many jobs of one run are killed, if it does not end before.
const killsOfAChain = 6

// killOften kills job after job of a run until it ends or enough is enough, and returns
// how many.
func (k *killChain) killOften(random *rand.Rand, within time.Duration, most int) int {
	k.t.Helper()
	for kills := range most {
		j := k.next()
		c := j.start()
		if !c.WaitAtRandom(random, within) || !c.Shoot() {
			k.wantTheEnd(j, c)
			return kills
		}
		// The git of a killed program ends when nobody reads what it says.
		sitetest.Eventually(k.t, "the end of git", func() bool { return !strings.Contains(sitetest.Describe(j.Site.Processes()), "git ") })
		if e := j.end(j.command("action-post")); e.Code != 0 {
			k.t.Fatalf("post of job %d: got %v, want success", k.jobs, e)
		}
		assert.Check(k.t, is.Len(sitetest.Temporary(j.Temp), 0), "left after the post part of job %d", k.jobs)
		if k.isOver(j) {
			return kills + 1
		}
	}
	j := k.next()
	k.wantTheEnd(j, j.start())
	return most
}

func (k *killChain) wantTheEnd(j *bareJob, c *sitetest.Command) {
	k.t.Helper()
	if e := j.end(c); e.Code != 0 {
		k.t.Fatalf("job %d: got %v, want success", k.jobs, e)
	}
	if !k.isOver(j) {
		k.t.Errorf("job %d: got a run that is not completed", k.jobs)
	}
}
