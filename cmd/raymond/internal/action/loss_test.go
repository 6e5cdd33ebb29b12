//go:build linux

package action_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
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
	result  string // that the run must have
	jobs    int
	rests   []invarianttest.Rest   // what the forge had before each job
	whole   []invarianttest.Effect // of an undisturbed run; nil when they are not known
	key     string                 // input state-key
}

func newKillChain(t *testing.T, result string) *killChain {
	t.Helper()
	repo := acttest.Repository(t, "")
	sitetest.CopyCanonical(t, filepath.Join(repo, "wf"))
	acttest.Commit(t, repo, "")
	return &killChain{t: t, forge: sitetest.NewForge(t), repo: repo, effects: filepath.Join(t.TempDir(), "effects"), result: result}
}

// next begins the next job, on another machine; every second one in another
// workflow run.
func (k *killChain) next() *bareJob {
	k.t.Helper()
	rest := invarianttest.Rest{Effects: len(k.done())}
	if all := k.forge.Checkpoints(k.t, k.forge.Keys); len(all) > 0 {
		rest.Run = all[len(all)-1].Run
	}
	if k.jobs > 0 {
		k.rests = append(k.rests, rest)
	}
	j := newJob(k.t, k.forge, k.repo, int64(1+k.jobs/2))
	k.jobs++
	j.bin = sitetest.Breaking.Path(k.t)
	if k.key != "" {
		j.with("state-key", k.key)
	}
	return j.set("SIDE_EFFECTS", k.effects).with("claude-path", sitetest.Stub.Path(k.t), "env", "SIDE_EFFECTS",
		"input", sitetest.CanonicalInput, "max-parallel", "1", "budget", "0")
}

// runs runs a job that is killed at its n-th failpoint, after which its post part
// runs. It returns false when the job came to its end before.
func (k *killChain) runs(j *bareJob, n int) bool {
	k.t.Helper()
	c := j.set(sitetest.KillVar, fmt.Sprint(n)).start()
	if o := c.Wait(); o.Code == 0 {
		if e := j.end(c); e.outputs["result"] != k.result {
			k.t.Errorf("job %d, output result: got %q, want %q", k.jobs, e.outputs["result"], k.result)
		}
		return false
	} else if o.Code != -1 {
		k.t.Fatalf("job %d, to be killed at failpoint %d: got %v\nwant a kill or success", k.jobs, n, o)
	}
	if e := j.end(j.set(sitetest.KillVar, "").command("action-post")); e.Code != 0 {
		k.t.Fatalf("post of job %d, killed at failpoint %d: got %v\nwant success", k.jobs, n, e)
	}
	return true
}

// done is what the jobs have done so far, a line an invocation.
func (k *killChain) done() []string {
	k.t.Helper()
	data, err := os.ReadFile(k.effects)
	if err != nil && !os.IsNotExist(err) {
		k.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:strings.Count(string(data), "\n")]
}

// trace is what a job has left behind, in the form that a run without jobs has
// it, and whether its run is completed.
func (k *killChain) trace(j *bareJob) (sitetest.Trace, bool) {
	k.t.Helper()
	dir, run := j.own(), k.saved(j)
	if run == nil {
		return sitetest.Trace{}, false // it was killed before its first save
	}
	if run.Progress.Status != state.Completed {
		return sitetest.Trace{}, false
	}
	events := sitetest.EventsIn(k.t, filepath.Join(dir, run.WorkflowID, "events.jsonl"))
	left := k.forge.History.Left(k.t, k.forge.Keys)
	left.Run, left.Events, left.Effects, left.Rests = run, events, invarianttest.EffectsOf(k.done()), k.rests
	left.Whole = k.whole
	left.Temporary = sitetest.Temporary(j.temp)
	invarianttest.Want(k.t, left)
	events = slices.DeleteFunc(events, func(e state.Event) bool { return e.Body.Type() == "checkpoint" })
	result, _ := run.Result()
	tr := sitetest.Trace{
		Stdout: string(result) + "\n", Events: sitetest.Normalise(k.t, events), Results: map[string]string{},
		Effects: slices.Compact(k.done()),
	}
	for _, a := range run.Ended {
		tr.Results[a.Agent] = string(a.Result)
	}
	return tr, true
}

// TestJobsThatAreKilledMakeOneRun kills jobs at random moments of their saves. All
// of them together do what one run does that nobody disturbs.
func TestJobsThatAreKilledMakeOneRun(t *testing.T) {
	t.Parallel()
	whole := sitetest.Undisturbed(t, 1)
	for seed := range uint64(sitetest.Dose(2, 12)) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			k, want := newKillChain(t, strings.TrimSuffix(whole.Stdout, "\n")), whole
			var kills []int
			for len(kills) < 40 {
				j, n := k.next(), 1+random.IntN(30)
				kills = append(kills, n)
				killed := k.runs(j, n)
				got, completed := k.trace(j)
				if !completed && killed {
					continue
				}
				t.Logf("%d kills of jobs at failpoints", len(kills))
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("run of %d jobs, killed at failpoints %v (-undisturbed +got):\n%s", k.jobs, kills, d)
				}
				return
			}
			t.Fatalf("jobs that were killed at failpoints %v: got no end", kills)
		})
	}
}
