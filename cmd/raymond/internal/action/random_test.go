//go:build linux

package action_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/invarianttest"
	"github.com/raymond-action/raymond-action/state"
)

// newRandomChain is a chain of jobs of the workflow for kills at any moment.
func newRandomChain(t *testing.T) *killChain {
	t.Helper()
	flow := strings.ReplaceAll(sitetest.Killable, "\n-- ", "\n-- wf/")
	return &killChain{
		t: t, forge: sitetest.NewForge(t), repo: acttest.Repository(t, flow), effects: filepath.Join(t.TempDir(), "effects"), result: "the end",
	}
}

// TestJobsKilledAtRandomMoments kills the main parts of jobs at any moment. The next job,
// on another machine, carries on with what the post part has stored, until the run comes
// to its end; the invariants hold for all of it. A dose of which no kill met an agent,
// the commands of done_when, or a step that was not stored yet, proves nothing: there is another.
func TestJobsKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := sitetest.Seed(t)
	whole := newRandomChain(t)
	j := whole.next()
	began := time.Now()
	if whole.runs(j, 0) {
		t.Fatal("undisturbed: got a kill")
	}
	took := time.Since(began)
	effects := invarianttest.EffectsOf(whole.done())
	kills := max(12, sitetest.Kills()/16)
	var l sitetest.Landed
	hasAll := func() bool { return l.Agent > 0 && l.Verify > 0 && l.Unstored > 0 }
	for dose := 0; dose == 0 || dose < 10 && !hasAll() && !t.Failed(); dose++ {
		t.Run(fmt.Sprintf("dose %d", dose), func(t *testing.T) {
			for n := range (kills + killsOfAChain - 1) / killsOfAChain {
				t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed, uint64(1000*dose+n)))
					for kills := 0; kills < killsOfAChain && !t.Failed(); {
						k := newRandomChain(t)
						k.whole = effects
						if n%2 == 1 {
							k.seal()
						}
						kills += k.killOften(sitetest.Aim{Random: random, Within: took / 2, Effects: k.effects}, killsOfAChain-kills, &l)
					}
				})
			}
		})
	}
	t.Logf("seed %d: %d kills: %d while an agent ran, %d in verify, %d between a transition and its upload", seed, l.Kills, l.Agent, l.Verify, l.Unstored)
	if !hasAll() || l.Kills < kills && !t.Failed() {
		t.Errorf("%d kills, %d while an agent ran, %d in verify, %d before an upload: want %d, and some of each", l.Kills, l.Agent, l.Verify, l.Unstored, kills)
	}
}

// seal has the checkpoints of a chain sealed.
func (k *killChain) seal() {
	k.t.Helper()
	k.key = sitetest.NewStateKey(k.t)
	keys, err := checkpoint.ParseKeys(k.key)
	if err != nil {
		k.t.Fatal(err)
	}
	k.forge.Keys = keys
}

// killsOfAChain is how many jobs of one run are killed, if it does not end before.
const killsOfAChain = 6

// killOften kills job after job of a run until it ends or enough is enough, and returns
// how many.
func (k *killChain) killOften(at sitetest.Aim, most int, l *sitetest.Landed) int {
	k.t.Helper()
	for kills := range most {
		j := k.next()
		c := j.start()
		if !at.Wait(c) || !c.Shoot() {
			k.wantTheEnd(j, c)
			return kills
		}
		l.Note(k.saved(j), k.stored())
		// The git of a killed program ends when nobody reads what it says.
		sitetest.Eventually(k.t, "the end of git", func() bool { return !strings.Contains(sitetest.Describe(j.site.Processes()), "git ") })
		if e := j.end(j.command("action-post")); e.Code != 0 {
			k.t.Fatalf("post of job %d: got %v, want success", k.jobs, e)
		}
		if left := sitetest.Temporary(j.temp); len(left) > 0 {
			k.t.Errorf("after the post part of job %d: got %q left, want nothing", k.jobs, left)
		}
		if got, completed := k.trace(j); completed {
			k.wantResult(got.Stdout)
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
	got, _ := k.trace(j)
	k.wantResult(got.Stdout)
}

func (k *killChain) wantResult(got string) {
	k.t.Helper()
	if got != k.result+"\n" {
		k.t.Errorf("result after %d jobs: got %q, want %q", k.jobs, got, k.result)
	}
}

// saved is what the main part of a job has saved; nil for nothing.
func (k *killChain) saved(j *bareJob) *state.Run {
	k.t.Helper()
	dir := j.own()
	ids, err := state.List(dir)
	if err != nil || len(ids) != 1 {
		return nil
	}
	run, err := state.Read(dir, ids[0])
	if err != nil {
		k.t.Fatal(err)
	}
	return run
}

// stored is the last step that is stored.
func (k *killChain) stored() int {
	k.t.Helper()
	seq := 0
	for _, c := range k.forge.Checkpoints(k.t, k.forge.Keys) {
		seq = max(seq, c.Manifest.Seq)
	}
	return seq
}
