//go:build linux

package action_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// fanOut is a workflow of twelve agents that run in jobs of a matrix, in two states each. The
// second state of agent 7 waits until a file is gone.
const fanOut = `-- wf/START.sh --
# raymond: many_forks=true
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "<fork next=\"WAIT.sh\" item=\"$i\">WORK.sh</fork>"; done
-- wf/WAIT.sh --
echo '<join>END.sh</join>'
-- wf/WORK.sh --
# raymond: job=work
echo "work$RAYMOND_VAR_ITEM" >>"$EFFECTS"; echo '<goto>MORE.sh</goto>'
-- wf/MORE.sh --
# raymond: job=work
if [ "$RAYMOND_VAR_ITEM" = 7 ]; then
	[ ! -e "$EFFECTS.hold" ] || { echo held >>"$EFFECTS"; until [ ! -e "$EFFECTS.hold" ]; do sleep 0.05; done; }
fi
echo "more$RAYMOND_VAR_ITEM" >>"$EFFECTS"; echo "<result>done $RAYMOND_VAR_ITEM</result>"
-- wf/END.sh --
echo end >>"$EFFECTS"; printf '<result>%s</result>' "$RAYMOND_RESULT"
`

// legs returns the parts in the output matrix.
func legs(t *testing.T, e stepEnd) []string {
	t.Helper()
	var matrix struct {
		Include []struct{ Part, Name string }
	}
	if err := json.Unmarshal([]byte(e.Outputs["matrix"]), &matrix); err != nil {
		t.Fatalf("output matrix %q: %v", e.Outputs["matrix"], err)
	}
	var parts []string
	for _, i := range matrix.Include {
		assert.Check(t, i.Name != "", "output matrix: %q has no name", i.Part)
		parts = append(parts, i.Part)
	}
	return parts
}

// matrixScene is a scene with a matrix of jobs that all have the same key.
type matrixScene struct {
	*scene
	inputs []string
}

func (f *matrixScene) plan(run int64) *bareJob {
	return f.scene.job(run, "key", "k", "max-jobs", "4", "matrix-job", "work", "args", "--max-retries=0 --keep-going").with(f.inputs...).often()
}

// of returns a job of the matrix.
func (f *matrixScene) of(run int64, part string) *bareJob {
	id := slots.Place{Key: part}.ClaimName() // any unique id
	return f.plan(run).with("job", "work", "part", part).
		set("GITHUB_JOB", "work", "RUNNER_NAME", "runner-"+id, "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, "work-"+id))
}

// joins returns the job that joins the parts.
func (f *matrixScene) joins(run int64) *bareJob {
	return f.plan(run).set("GITHUB_JOB", "join", "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, "join"))
}

func (f *matrixScene) touch(ext string, there bool) {
	f.t.Helper()
	err := os.WriteFile(f.effects+ext, nil, 0o600)
	if !there {
		err = os.Remove(f.effects + ext)
	}
	assert.NilError(f.t, err)
}

// eachOnce checks that each state of the agents had its effect once.
func (f *matrixScene) eachOnce() {
	f.t.Helper()
	done := strings.Fields(f.done())
	for i := 1; i <= 12; i++ {
		for _, state := range []string{"work", "more"} {
			assert.Check(f.t, is.Equal(len(slices.DeleteFunc(slices.Clone(done), func(s string) bool { return s != fmt.Sprint(state, i) })), 1), "times that %s%d ran", state, i)
		}
	}
}

// TestTwelveAgentsOnFourJobs checks that four jobs have the same result as one job that runs
// everything.
func TestTwelveAgentsOnFourJobs(t *testing.T) {
	t.Parallel()
	alone := newScene(t, fanOut)
	whole := alone.job(1, "job", "main,work", "key", "k").do(0)
	whole.WantOutputs(t, "status", "completed", "iterations", "27")

	f := &matrixScene{scene: newScene(t, fanOut)}
	plan := f.plan(1).do(0)
	plan.WantOutputs(t, "status", "suspended", "next-jobs", `["work"]`)
	parts := legs(t, plan)
	assert.Assert(t, is.Len(parts, 4), "parts")
	assert.Equal(t, parts[0], "main_work1,main_work5,main_work9", "parts")
	for _, part := range parts {
		f.of(1, part).do(0)
	}
	join := f.joins(1).do(0)
	join.WantOutputs(t, "status", "completed", "result", whole.Outputs["result"], "iterations", "27", "matrix", `{"include":[]}`, "workflow-id", plan.Outputs["workflow-id"])
	f.eachOnce()
	again := f.of(1, parts[0]).set("GITHUB_RUN_ATTEMPT", "2").do(0) // a job of the matrix is re-run
	again.WantOutputs(t, nobodyWaits...)
	again.WantAnnotation(t, "notice", "nothing to do")
	f.eachOnce()
}

// TestOneOfFourJobsDies checks that the run is joined without a job that died after some of its
// work was stored. The next matrix contains the remaining agents, and each state has its effect
// once.
func TestOneOfFourJobsDies(t *testing.T) {
	t.Parallel()
	f := &matrixScene{scene: newForgeScene(t, fanOut)}
	parts := legs(t, f.plan(1).do(0))
	f.touch(".hold", true)
	for i, part := range parts {
		if i == 2 {
			j, c := f.holds(part)
			c.Kill()
			j.end(c)
		} else {
			f.of(1, part).do(0)
		}
	}
	f.touch(".hold", false)
	join := f.joins(1).do(0)
	join.WantOutputs(t, "status", "suspended", "next-jobs", `["work"]`)
	join.WantAnnotation(t, "notice", "joined 4 parts", "lost jobs", "main_work3, main_work7, main_work11 (last checkpoint ")
	if left := strings.Join(legs(t, join), ","); !strings.Contains(left, "main_work7") || strings.Contains(left, "main_work1,") {
		t.Errorf("next matrix: got %q, want main_work7 and none of another part", left)
	}
	f.of(1, parts[2]).set("GITHUB_RUN_ATTEMPT", "2").do(0)
	f.joins(1).set("GITHUB_RUN_ATTEMPT", "2").do(0).WantOutputs(t, "status", "completed")
	f.eachOnce()
}

// holds starts the job of the third part, and returns when its work, except for agent 7, is stored.
func (f *matrixScene) holds(part string) (*bareJob, *running) {
	f.t.Helper()
	j := f.of(1, part)
	c := j.start()
	c.Until("the job to be held", func() bool { return strings.Contains(f.done(), "held") && f.hasStored("main_work3", "main_work11") })
	return j, c
}

// TestRunWithRunningPartIsUnchanged checks that a step leaves the run unchanged while another
// workflow run is running a part of it, because the step that joins the part must find it so. It
// stores nothing, and no matrix contains the running agents. The part continues where its job died
// if that job is re-run, even more often than necessary.
func TestRunWithRunningPartIsUnchanged(t *testing.T) {
	t.Parallel()
	f := &matrixScene{scene: newForgeScene(t, fanOut)}
	plan := f.plan(1).do(0)
	parts := legs(t, plan)
	f.touch(".hold", true)
	j, c := f.holds(parts[2])
	before := f.forge.All()
	e := f.plan(2).do(0)
	e.WantOutputs(t, append(nobodyWaits[4:], "status", "suspended", "workflow-id", plan.Outputs["workflow-id"])...)
	e.WantAnnotation(t, "notice", "nothing to do yet")
	assert.Check(t, is.DeepEqual(names(f.forge.All()), names(before)), "artifacts")
	c.Kill()
	j.end(c)
	f.touch(".hold", false)
	for _, attempt := range []string{"2", "3"} {
		f.of(1, parts[2]).set("GITHUB_RUN_ATTEMPT", attempt).do(0).WantOutputs(t, "status", "suspended", "iterations", "8")
	}
	for _, i := range []int{0, 1, 3} {
		f.of(1, parts[i]).do(0)
	}
	f.joins(1).do(0).WantOutputs(t, "status", "completed")
	f.eachOnce()
}

// hasStored reports whether a checkpoint contains the ends of all the given agents.
func (f *matrixScene) hasStored(agents ...string) bool {
	return slices.ContainsFunc(f.forge.Checkpoints(f.t, nil), func(c sitetest.StoredRun) bool {
		return !slices.ContainsFunc(agents, func(id string) bool {
			return !slices.ContainsFunc(c.Run.Ended, func(e state.Ending) bool { return e.Agent == id })
		})
	})
}

// TestWorkOfPartsIsRestoredAsBranches checks that the work of parts is restored in separate
// branches, and that the joining step keeps the checkout of the run itself.
func TestWorkOfPartsIsRestoredAsBranches(t *testing.T) {
	t.Parallel()
	f := &matrixScene{scene: newGitScene(t, `-- wf/START.sh --
# raymond: many_forks=true
echo planned >plan.txt
for i in 1 2; do echo "<fork next=\"WAIT.sh\" item=\"$i\">WORK.sh</fork>"; done
-- wf/WAIT.sh --
echo '<join>END.sh</join>'
-- wf/WORK.sh --
# raymond: job=work cd=true
[ "$(cat plan.txt)" = planned ] || exit 1
echo "by $RAYMOND_VAR_ITEM" >shared.txt
git worktree add -q "$RUNNER_TEMP/wt" -b "topic$RAYMOND_VAR_ITEM" && echo "own $RAYMOND_VAR_ITEM" >"$RUNNER_TEMP/wt/own.txt"
echo "<reset cd=\"$RUNNER_TEMP/wt\">MORE.sh</reset>"
-- wf/MORE.sh --
# raymond: job=work
echo '<result>done</result>'
-- wf/END.sh --
[ ! -e shared.txt ] && [ ! -e own.txt ] || exit 1
echo "<result>$(git show raymond/main_work1:own.txt), $(git show raymond/main_work2:own.txt), $(cat plan.txt)</result>"
`)}
	parts := legs(t, f.plan(1).do(0))
	for _, part := range parts {
		f.of(1, part).do(0)
	}
	f.joins(1).do(0).WantOutputs(t, "status", "completed", "result", "own 1, own 2, planned")
}

// cheapAndDear is a workflow of two agents in separate parts, one of which never stops spending.
const cheapAndDear = `-- wf/START.sh --
# raymond: many_forks=true
echo '<fork next="WAIT.sh">CHEAP.md</fork><fork next="WAIT.sh">DEAR.md</fork>'
-- wf/WAIT.sh --
echo '<join>END.sh</join>'
-- wf/CHEAP.md --
---
job: work
---
reply:
<result>done</result>
end.
-- wf/DEAR.md --
---
job: work
---
reply:
<goto>DEAR.md</goto>
end.
-- wf/END.sh --
echo '<result>end</result>'
`

// TestPartOverItsShareOfTheBudget checks that a part over its share fails, and its agents are in
// the next matrix with a new share. When the budget is used up, the run is over budget.
func TestPartOverItsShareOfTheBudget(t *testing.T) {
	t.Parallel()
	f := &matrixScene{newScene(t, cheapAndDear), []string{"budget", "0.05"}}
	overLimit := problem.ExitCodes[problem.ClassOverLimit]
	leg := func(part string, code int) stepEnd { return f.of(1, part).do(code) }
	parts := legs(t, f.plan(1).do(0))
	assert.Assert(t, is.DeepEqual(parts, []string{"main_cheap1", "main_dear2"}), "parts")
	leg(parts[0], 0).WantOutputs(t, "cost-usd", "0.01")
	leg(parts[1], overLimit).WantOutputs(t, "status", "over_budget", "cost-usd", "0.03")
	join := f.joins(1).do(0)
	join.WantOutputs(t, "status", "suspended", "cost-usd", "0.04")
	assert.Assert(t, is.DeepEqual(legs(t, join), parts[1:]), "next matrix")
	leg(parts[1], overLimit).WantOutputs(t, "status", "over_budget", "cost-usd", "0.06")
	f.joins(1).do(overLimit).WantOutputs(t, "status", "over_budget", "cost-usd", "0.06", "matrix", `{"include":[]}`)
}

// TestPartsShareTheRemainingBudget checks that parts share the rest of a budget for several runs,
// and that each stores its spending.
func TestPartsShareTheRemainingBudget(t *testing.T) {
	t.Parallel()
	f := &matrixScene{newForgeScene(t, cheapAndDear), []string{"budget-per-key", "0.02"}}
	parts := legs(t, f.plan(1).do(0))
	dear := f.of(1, parts[1]).set("GITHUB_JOB", "build").do(problem.ExitCodes[problem.ClassOverLimit])
	dear.WantAnnotation(t, "error", "budget-per-key: the runs of this key have spent")
	f.of(1, parts[0]).set("GITHUB_JOB", "build").do(0)
	f.wantSpent("10000", "10000")
}
