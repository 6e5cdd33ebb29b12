//go:build linux

package runnertest

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
	// A machine that was slow to be lost may have stored the end; then this is a new run.
	isOver := last.Run != nil && last.Run.Progress.Status == state.Completed
	if last.Run != nil && !isOver && s.Outputs["workflow-id"] != last.Run.WorkflowID {
		t.Errorf("workflow id: got %s, want %s as stored\n%s", s.Outputs["workflow-id"], last.Run.WorkflowID, shown(res))
	}
	after := sitetest.EffectsOf(t, c.effects())
	for _, e := range after {
		if !isOver && slices.Contains(done, e) {
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
func finishedIn(t testing.TB, server *artifactstest.Server) (done []sitetest.Effect, last sitetest.StoredRun) {
	t.Helper()
	all := slices.DeleteFunc(server.All(), func(a artifactstest.Stored) bool { return !sitetest.IsCheckpoint(a) })
	if len(all) == 0 {
		return nil, last
	}
	last = sitetest.ReadStored(t, all[len(all)-1], nil)
	for _, e := range sitetest.EventsIn(t, filepath.Join(last.Dir, "events.jsonl")) {
		if b, ok := e.Body.(*state.StateFinished); ok && b.OK {
			done = append(done, sitetest.Effect{Agent: e.Agent, State: e.State})
		}
	}
	return done, last
}
