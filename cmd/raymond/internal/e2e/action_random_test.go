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

// killChain is a run that one job after the other continues. The test kills the jobs.
type killChain struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
	jobs    int
	rests   []invarianttest.IdleMoment // the stored run before each job
	whole   []invarianttest.Effect     // the effects of an uninterrupted run; nil if unknown
	key     string                     // the input state-key; empty if checkpoints aren't sealed
}

// nextJob returns the next job, on a new machine. Every second job belongs to a new workflow run.
func (k *killChain) nextJob() *bareJob {
	k.t.Helper()
	rest := invarianttest.IdleMoment{Effects: len(k.effectLines())}
	if all := k.forge.Checkpoints(k.t, k.forge.Keys); len(all) > 0 {
		rest.Run = all[len(all)-1].Run
	}
	if k.jobs > 0 {
		k.rests = append(k.rests, rest)
	}
	j := newJob(k.t, k.forge, k.repo, int64(1+k.jobs/2))
	k.jobs++
	if k.key != "" {
		j.withInputs("state-key", k.key)
	}
	return j.setVariables("SIDE_EFFECTS", k.effects).withInputs("clis", "claude="+sitetest.Stub.Path(k.t), "env", "SIDE_EFFECTS",
		"input", "in", "args", "--max-parallel=1", "budget", "0")
}

// effectLines returns one line for each agent turn, script and check that the jobs have run.
func (k *killChain) effectLines() []string { return sitetest.LinesOf(k.t, k.effects) }

// isOver reports whether the run is completed. If so, it checks the invariants. j is the last job.
func (k *killChain) isOver(j *bareJob) bool {
	k.t.Helper()
	all := k.forge.Checkpoints(k.t, k.forge.Keys)
	if len(all) == 0 || all[len(all)-1].Manifest.Status != state.Completed {
		return false
	}
	dir, run := all[len(all)-1].Dir, all[len(all)-1].Run // from the checkpoint, because the post phase deletes the run's files
	left := k.forge.History.Evidence(k.t, k.forge.Keys)
	left.Run, left.Effects, left.IdleMoments, left.Undisturbed = run, invarianttest.ParseEffects(k.effectLines()), k.rests, k.whole
	left.Events = sitetest.EventsIn(k.t, filepath.Join(dir, "events.jsonl"))
	left.TempFiles = sitetest.Temporary(j.Temp)
	invarianttest.Want(k.t, left)
	if result, _ := run.Result(); result != "the end" {
		k.t.Errorf("result after %d jobs: got %q, want the end", k.jobs, result)
	}
	return true
}

// newRandomChain returns a chain of jobs that run the workflow Killable.
func newRandomChain(t *testing.T) *killChain {
	t.Helper()
	flow := strings.ReplaceAll(sitetest.Killable, "\n-- ", "\n-- wf/")
	return &killChain{t: t, forge: sitetest.NewForge(t), repo: sitetest.Repository(t, flow), effects: filepath.Join(t.TempDir(), "effects")}
}

// TestJobsKilledAtRandomMoments kills the main phases of jobs at random moments. The post phase stores a checkpoint,
// from which the next job continues on another machine, until the run is completed. The invariants must hold throughout.
func TestJobsKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := sitetest.Seed(t)
	whole := newRandomChain(t)
	j := whole.nextJob()
	began := time.Now()
	whole.wantTheEnd(j, j.start())
	took := time.Since(began)
	effects := invarianttest.ParseEffects(whole.effectLines())
	kills := sitetest.Dose(killsOfAChain, 30*killsOfAChain)
	for n := range kills / killsOfAChain {
		t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			for kills := 0; kills < killsOfAChain && !t.Failed(); {
				k := newRandomChain(t)
				k.whole = effects
				if (seed+uint64(n))%2 == 1 {
					var err error
					k.key = sitetest.NewStateKey(t)
					k.forge.Keys, err = checkpoint.ParseKeys(k.key)
					assert.NilError(t, err)
				}
				kills += k.killOften(random, took/2, killsOfAChain-kills)
			}
		})
	}
}

// killsOfAChain is the maximum number of jobs of one run that are killed.
const killsOfAChain = 6

// killOften kills at most the given number of jobs of a run, one after the other. Each is killed at a random moment within
// the given time. If the run is not completed then, the next job must complete it. killOften returns the number of killed
// jobs.
func (k *killChain) killOften(random *rand.Rand, within time.Duration, most int) int {
	k.t.Helper()
	for kills := range most {
		j := k.nextJob()
		c := j.start()
		if !c.WaitAtRandom(random, within) || !c.Shoot() {
			k.wantTheEnd(j, c)
			return kills
		}
		// A git process that the killed program has left ends when it writes to its output pipe.
		sitetest.Eventually(k.t, "the end of git", func() bool { return !strings.Contains(sitetest.Describe(j.Site.Processes()), "git ") })
		if e := j.end(j.command("action-post")); e.Code != 0 {
			k.t.Fatalf("post of job %d: got %v, want success", k.jobs, e)
		}
		assert.Check(k.t, is.Len(sitetest.Temporary(j.Temp), 0), "left after the post part of job %d", k.jobs)
		if k.isOver(j) {
			return kills + 1
		}
	}
	j := k.nextJob()
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
