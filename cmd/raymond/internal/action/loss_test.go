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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// mortal is a workflow of a dozen states, with forks and a call, that counts in a
// file of the repository: its result has every execution that the workspace knows
// of. What each does it also tells $SIDE_EFFECTS, which no machine's end touches.
const mortal = `
-- counts.txt --
-- count.sh --
echo "$RAYMOND_AGENT_ID $RAYMOND_STATE" >>counts.txt
echo "{\"agent\":\"$RAYMOND_AGENT_ID\",\"state\":\"$RAYMOND_STATE\"}" >>"$SIDE_EFFECTS"
sleep "$1"
-- flow/1_START.sh --
git switch -q -c counting
sh count.sh 0.2
git -c user.name=Agent -c user.email=agent@example.com commit -qam 'the first count'
echo '<goto>PLAN.md</goto>'
-- flow/PLAN.md --
log: plan
reply:
<call return="BACK.md">ASIDE.md</call>
end.
-- flow/ASIDE.md --
log: aside
reply:
<goto>LOOK.sh</goto>
end.
-- flow/LOOK.sh --
sh count.sh 0.5
echo '<result>looked</result>'
-- flow/BACK.md --
log: {{result}}
reply:
<goto>SPREAD.sh</goto>
end.
-- flow/SPREAD.sh --
sh count.sh 0.2
echo '<fork next="MORE.sh" item="a">WORK.md</fork>'
-- flow/MORE.sh --
sh count.sh 0.2
echo '<fork next="END.sh" item="b">WORK.md</fork>'
-- flow/WORK.md --
log: {{item}}
reply:
<goto>CHECK.sh</goto>
end.
-- flow/CHECK.sh --
sh count.sh 0.5
echo '<goto>TELL.md</goto>'
-- flow/TELL.md --
log: tell
reply:
<goto>LATE.sh</goto>
end.
-- flow/LATE.sh --
sh count.sh 1
echo '<result>late</result>'
-- flow/END.sh --
sh count.sh 0.2
until [ "$(sort -u counts.txt | wc -l)" -ge 9 ]; do sleep 0.05; done
sleep 1.1
echo "<result>$(git log -1 --format=%s), $(git symbolic-ref --short HEAD): $(sort -u counts.txt | paste -sd,)</result>"
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: raymond
        uses: acme/raymond-action@v1
        with: {workflow: flow, env: SIDE_EFFECTS, checkpoint-interval: 1s}
`

// mortals is a consumer with that workflow and a stand-in that keeps its
// checkpoints.
func mortals(t testing.TB) (*consumer, *artifactstest.Server) {
	t.Helper()
	c, server := newConsumer(t, mortal+keepState), artifactstest.New(t)
	c.Results = acttest.Results{URL: server.URL, Token: artifactstest.Token(1)}
	return c, server
}

// span is an undisturbed run.
type span struct {
	result  string
	effects []sitetest.Effect
	took    time.Duration // from its first state on
}

// TestRunOutlivesItsMachine destroys everything of a machine at random moments
// but what was stored by then. The second machine finishes the run, and does
// nothing again that was done before the last checkpoint.
func TestRunOutlivesItsMachine(t *testing.T) {
	t.Parallel()
	const seed = 20260301
	runs := sitetest.Dose(1, 3)
	whole := wholeSpan(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range runs {
		// One in each part of the run, which is over before its step is.
		at := time.Duration((float64(n) + random.Float64()) / float64(runs) * 0.9 * float64(whole.took))
		t.Run(fmt.Sprintf("%d of seed %d", n, seed), func(t *testing.T) {
			t.Parallel()
			loseMachine(t, whole, at)
		})
	}
}

// wholeSpan runs the workflow without a fault, and holds that it is stored in
// between, as often as the interval says.
func wholeSpan(t *testing.T) span {
	c, _ := mortals(t)
	r := c.start(nil)
	r.Until("the first state", func(*acttest.Result) bool { return len(c.effects()) > 0 })
	began := time.Now()
	res := c.wait(r)
	s := span{effects: sitetest.EffectsOf(t, c.effects()), took: time.Since(began)}
	s.result = wantStep(t, res, "one", "raymond", "success", map[string]string{"status": "completed", "iterations": "16"}).Outputs["result"]
	if !strings.HasPrefix(s.result, "the first count, counting: main 1_START.sh,") || strings.Count(s.result, ",") != 9 {
		t.Fatalf("result of the undisturbed run: got %q, want all counts\n%s", s.result, shown(res))
	}
	stored := sitetest.Bodies[*state.Checkpoint](c.keptEvents("one"))
	// One at the end, and one a second at most.
	if n, most := len(stored), 2+int(s.took.Seconds()); n < 3 || n > most {
		t.Errorf("checkpoints in %v with an interval of 1s: got %d, want 3 to %d\n%s", s.took, n, most, shown(res))
	}
	for _, b := range stored {
		if b.Error != "" {
			t.Errorf("checkpoint: got %+v, want no error", b)
		}
	}
	return s
}

// loseMachine destroys the first machine some time after the first state.
func loseMachine(t *testing.T, whole span, at time.Duration) {
	c, server := mortals(t)
	r := c.start(nil)
	r.Until("the first state", func(*acttest.Result) bool { return len(c.effects()) > 0 })
	<-time.After(at)
	r.Destroy()
	done, last := finishedIn(t, server)
	before := sitetest.EffectsOf(t, c.effects())
	if err := os.Rename(c.sideEffects(), c.sideEffects()+".first"); err != nil {
		t.Fatal(err)
	}
	res := c.run(nil)
	s := wantStep(t, res, "one", "raymond", "success", map[string]string{"status": "completed", "result": whole.result})
	if last.run != nil && s.Outputs["workflow-id"] != last.run.WorkflowID {
		t.Errorf("workflow id: got %s, want %s as stored\n%s", s.Outputs["workflow-id"], last.run.WorkflowID, shown(res))
	}
	after := sitetest.EffectsOf(t, c.effects())
	for _, e := range after {
		if slices.Contains(done, e) {
			t.Errorf("on the second machine: got %+v, which was finished at %v\n%s", e, last, shown(res))
		}
	}
	if d := cmp.Diff(sorted(whole.effects), slices.Compact(sorted(append(before, after...)))); d != "" {
		t.Errorf("executions on both machines (-undisturbed +got):\n%s", d)
	}
	t.Logf("lost after %v with %d of %d executions; %d were stored", at, len(before), len(whole.effects), len(done))
}

func sorted(effects []sitetest.Effect) []string {
	var lines []string
	for _, e := range effects {
		lines = append(lines, e.Agent+" "+e.State)
	}
	slices.Sort(lines)
	return lines
}

// finishedIn returns what had been executed at the last checkpoint that a server
// has, none when it has none.
func finishedIn(t testing.TB, server *artifactstest.Server) (done []sitetest.Effect, last storedRun) {
	t.Helper()
	all := slices.DeleteFunc(server.All(), func(a artifactstest.Stored) bool { return strings.HasSuffix(a.Name, "-claim") })
	if len(all) == 0 {
		return nil, last
	}
	path := filepath.Join(t.TempDir(), "last.zip")
	if err := os.WriteFile(path, all[len(all)-1].Content, 0o600); err != nil {
		t.Fatal(err)
	}
	last = readStored(t, path, nil)
	for _, e := range sitetest.EventsIn(t, filepath.Join(last.dir, "events.jsonl")) {
		if b, ok := e.Body.(*state.StateFinished); ok && b.OK {
			done = append(done, sitetest.Effect{Agent: e.Agent, State: e.State})
		}
	}
	return done, last
}

// killChain is a run that goes from job to job, each of which is killed.
type killChain struct {
	t       *testing.T
	forge   *forge
	repo    string
	effects string
	result  string // that the run must have
	jobs    int
}

func newKillChain(t *testing.T, result string) *killChain {
	t.Helper()
	repo := acttest.Repository(t, "")
	sitetest.CopyCanonical(t, filepath.Join(repo, "wf"))
	acttest.Commit(t, repo, "")
	return &killChain{t: t, forge: newForge(t), repo: repo, effects: filepath.Join(t.TempDir(), "effects"), result: result}
}

// next begins the next job, on another machine; every second one in another
// workflow run.
func (k *killChain) next() *bareJob {
	k.t.Helper()
	j := k.forge.job(k.t, k.repo, int64(1+k.jobs/2))
	k.jobs++
	j.bin = sitetest.Breaking.Path(k.t)
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

// trace is what a job has left behind, in the form that a run without jobs has
// it, and whether its run is completed.
func (k *killChain) trace(j *bareJob) (sitetest.Trace, bool) {
	k.t.Helper()
	dir := j.own()
	ids, err := state.List(dir)
	if err != nil || len(ids) != 1 {
		return sitetest.Trace{}, false // it was killed before its first save
	}
	run, err := state.Read(dir, ids[0])
	if err != nil {
		k.t.Fatal(err)
	}
	if run.Progress.Status != state.Completed {
		return sitetest.Trace{}, false
	}
	sitetest.WantLedger(k.t, run)
	events := sitetest.EventsIn(k.t, filepath.Join(dir, run.WorkflowID, "events.jsonl"))
	events = slices.DeleteFunc(events, func(e state.Event) bool { return e.Body.Type() == "checkpoint" })
	data, err := os.ReadFile(k.effects)
	if err != nil {
		k.t.Fatal(err)
	}
	result, _ := run.Result()
	tr := sitetest.Trace{
		Stdout: string(result) + "\n", Events: sitetest.Normalise(k.t, events), Results: map[string]string{},
		Effects: slices.Compact(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")),
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
	for seed := range uint64(sitetest.Dose(3, 12)) {
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
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("run of %d jobs, killed at failpoints %v (-undisturbed +got):\n%s", k.jobs, kills, d)
				}
				return
			}
			t.Fatalf("jobs that were killed at failpoints %v: got no end", kills)
		})
	}
}
