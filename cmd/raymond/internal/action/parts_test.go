//go:build linux

package action_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// fanOut is a workflow of twelve agents that work in a job of a matrix, in two states each.
// The first state of agent 7 waits for a file, and its second one fails while there is
// another.
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
	[ ! -e "$EFFECTS.fail" ] || { echo 'no seven' >&2; exit 1; }
fi
echo "more$RAYMOND_VAR_ITEM" >>"$EFFECTS"; echo "<result>done $RAYMOND_VAR_ITEM</result>"
-- wf/END.sh --
echo end >>"$EFFECTS"; echo "<result>$(printf %s "$RAYMOND_RESULT" | tr -cd '0-9a-z{},:' | tr -s ' ')</result>"
`

// legs are the parts of a matrix, as the output has them.
func legs(t *testing.T, e ended) []string {
	t.Helper()
	var matrix struct {
		Include []struct{ Part, Name string }
	}
	if err := json.Unmarshal([]byte(e.outputs["matrix"]), &matrix); err != nil {
		t.Fatalf("output matrix %q: %v", e.outputs["matrix"], err)
	}
	var parts []string
	for _, i := range matrix.Include {
		if i.Name == "" {
			t.Errorf("output matrix: %q has no name", i.Part)
		}
		parts = append(parts, i.Part)
	}
	return parts
}

// fanned is a scene with a matrix of jobs, all of one key.
type fanned struct {
	*scene
	inputs []string
}

func (f *fanned) plan(run int64) *bareJob {
	return f.scene.job(run, append([]string{"key", "k", "max-jobs", "4", "matrix-job", "work", "max-retries", "0", "keep-going", "true"}, f.inputs...)...)
}

// of is a job of the matrix.
func (f *fanned) of(run int64, part string) *bareJob {
	id := slots.Place{Key: part}.ClaimName() // some id
	return f.plan(run).with("job", "work", "part", part).
		set("GITHUB_JOB", "work", "RUNNER_NAME", "runner-"+id, "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, "work-"+id))
}

// joins is the job that joins.
func (f *fanned) joins(run int64) *bareJob {
	return f.plan(run).set("GITHUB_JOB", "join", "ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, "join"))
}

func (f *fanned) touch(ext string, there bool) {
	f.t.Helper()
	err := os.WriteFile(f.effects+ext, nil, 0o600)
	if !there {
		err = os.Remove(f.effects + ext)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// eachOnce checks that each state of the agents had its effect once.
func (f *fanned) eachOnce() {
	f.t.Helper()
	done := strings.Fields(f.done())
	for i := 1; i <= 12; i++ {
		for _, state := range []string{"work", "more"} {
			if n := len(slices.DeleteFunc(slices.Clone(done), func(s string) bool { return s != fmt.Sprint(state, i) })); n != 1 {
				f.t.Errorf("%s%d ran %d times, want once", state, i, n)
			}
		}
	}
}

// TestTwelveAgentsOnFourJobs: what they bring is what one job brings that runs all of it.
func TestTwelveAgentsOnFourJobs(t *testing.T) {
	t.Parallel()
	alone := newScene(t, fanOut)
	whole := alone.job(1, "job", "main,work", "key", "k").do(0)
	whole.wantOutputs(t, "status", "completed", "iterations", "27")

	f := &fanned{scene: newScene(t, fanOut)}
	plan := f.plan(1).do(0)
	plan.wantOutputs(t, "status", "suspended", "next-jobs", `["work"]`)
	parts := legs(t, plan)
	if len(parts) != 4 || parts[0] != "main_work1,main_work5,main_work9" {
		t.Fatalf("parts: got %q", parts)
	}
	for _, part := range parts {
		f.of(1, part).do(0)
	}
	join := f.joins(1).do(0)
	join.wantOutputs(t, "status", "completed", "result", whole.outputs["result"], "iterations", "27", "matrix", `{"include":[]}`, "workflow-id", plan.outputs["workflow-id"])
	f.eachOnce()
	if left := f.claims(); len(left) > 0 {
		t.Errorf("claims in the end: got %v, want none", names(left))
	}
	again := f.of(1, parts[0]).set("GITHUB_RUN_ATTEMPT", "2").do(0) // somebody runs one of them again
	again.wantOutputs(t, nobodyWaits...)
	again.wantSays(t, "notice", "nothing is done")
	f.eachOnce()
}

// TestOneOfFourJobsDies and is run again: once before the run is joined, and once after
// that; in the same workflow run, and in a later one.
func TestOneOfFourJobsDies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"run again at once", "joined before", "joined by a later run"} {
		f := &fanned{scene: newScene(t, fanOut)}
		f.inputs = []string{"checkpoint-interval", "1s"}
		parts := legs(t, f.plan(1).do(0))
		f.touch(".hold", true)
		run, attempt := int64(1), "2"
		for i, part := range parts {
			j := f.of(1, part)
			if i != 2 {
				j.do(0)
				continue
			}
			c := j.start()
			c.Until("the job to be held", func() bool { return strings.Contains(f.done(), "held") && f.hasStored("main_work3", "main_work11") })
			c.Kill()
			j.site.KillAll()
			j.end(c)
		}
		f.touch(".hold", false)
		switch name {
		case "run again at once":
			f.of(1, parts[2]).set("GITHUB_RUN_ATTEMPT", "2").do(0)
		case "joined before":
			join := f.joins(1).do(0)
			join.wantOutputs(t, "status", "suspended", "next-jobs", `["work"]`)
			if left := strings.Join(legs(t, join), ","); !strings.Contains(left, "main_work7") || strings.Contains(left, "main_work1,") {
				t.Errorf("%s: next matrix: got %q, want main_work7 and none of another part", name, left)
			}
			f.of(1, parts[2]).set("GITHUB_RUN_ATTEMPT", "2").do(0)
		case "joined by a later run":
			f.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
			run, attempt = 2, "1"
			for _, part := range legs(t, f.joins(2).do(0)) {
				f.of(2, part).do(0)
			}
		}
		f.joins(run).set("GITHUB_RUN_ATTEMPT", attempt).do(0).wantOutputs(t, "status", "completed")
		f.eachOnce()
	}
}

// TestAJobThatDiesWhileItJoins: before anything of it is stored, and after that. The next
// one joins the same parts, and nothing comes twice, neither in the state nor in the log.
func TestAJobThatDiesWhileItJoins(t *testing.T) {
	t.Parallel()
	for _, interval := range []string{"60s", "1s"} {
		f := &fanned{scene: newScene(t, strings.Replace(fanOut, "echo end >>", "[ ! -e \"$EFFECTS.hold\" ] || { echo joining >>\"$EFFECTS\"; until [ ! -e \"$EFFECTS.hold\" ]; do sleep 0.05; done; }\necho end >>", 1))}
		f.inputs = []string{"checkpoint-interval", interval}
		for _, part := range legs(t, f.plan(1).do(0)) {
			f.of(1, part).do(0)
		}
		before := len(f.forge.All())
		f.touch(".hold", true)
		j := f.joins(1)
		c := j.start()
		c.Until("the join to be held", func() bool {
			return strings.Contains(f.done(), "joining") && (interval == "60s" || len(f.forge.All()) > before+1) // the claim is there, too
		})
		c.Kill()
		j.site.KillAll()
		j.end(c)
		f.touch(".hold", false)
		e := f.joins(1).set("GITHUB_RUN_ATTEMPT", "2").do(0)
		e.wantOutputs(t, "status", "completed", "iterations", map[string]string{"60s": "27", "1s": "27"}[interval])
		f.eachOnce()
		log, err := os.ReadFile(e.outputs["events-file"])
		if err != nil {
			t.Fatal(err)
		}
		last, started := 0, map[string]bool{}
		for line := range strings.Lines(string(log)) {
			var event struct {
				Seq         int
				Type, Agent string
			}
			if err := json.Unmarshal([]byte(line), &event); err != nil || event.Seq <= last {
				t.Fatalf("events after %d: got %s (%v)", last, line, err)
			}
			if event.Type == "agent_started" && started[event.Agent] {
				t.Errorf("%s started twice", event.Agent)
			}
			last, started[event.Agent] = event.Seq, started[event.Agent] || event.Type == "agent_started"
		}
		if len(started) != 14 { // and events of the run
			t.Errorf("agents in the log: got %d, want 13", len(started)-1)
		}
	}
}

// TestNothingIsJoinedWhereNobodyUsesAMatrix: of a run that waits for a job, a step that does
// not run that job finds nothing due, and stores nothing. What it says to the next jobs is
// the same as before.
func TestNothingIsJoinedWhereNobodyUsesAMatrix(t *testing.T) {
	t.Parallel()
	f := &fanned{scene: newScene(t, fanOut)}
	plan := f.plan(1).do(0)
	before := len(f.forge.All())
	idle := f.joins(1).do(0)
	idle.wantOutputs(t, "status", "suspended", "matrix", plan.outputs["matrix"], "next-jobs", `["work"]`)
	idle.wantSays(t, "notice", "nothing is due")
	if n := len(f.forge.All()); n != before {
		t.Errorf("artifacts: got %d, want the %d of before", n, before)
	}
	f.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
	f.plan(2).with("job", "main,work").do(0).wantOutputs(t, "status", "completed") // all of it in one job
	f.eachOnce()
}

// hasStored reports whether a checkpoint has the ends of all these agents.
func (f *fanned) hasStored(agents ...string) bool {
	return slices.ContainsFunc(f.forge.Checkpoints(f.t, nil), func(c sitetest.StoredRun) bool {
		return !slices.ContainsFunc(agents, func(id string) bool {
			return !slices.ContainsFunc(c.Run.Ended, func(e state.Ending) bool { return e.Agent == id })
		})
	})
}

// TestAFailedAgentOfAPart waits for the job again, with its error told, and the step that
// joins is green.
func TestAFailedAgentOfAPart(t *testing.T) {
	t.Parallel()
	f := &fanned{scene: newScene(t, fanOut)}
	parts := legs(t, f.plan(1).do(0))
	f.touch(".fail", true)
	for i, part := range parts {
		code := 0
		if i == 2 {
			code = problem.ExitCodes[problem.ClassRunFailed]
		}
		f.of(1, part).do(code)
	}
	join := f.joins(1).do(0)
	join.wantOutputs(t, "status", "suspended")
	if got := legs(t, join); !slices.Equal(got, []string{"main_work7"}) {
		t.Errorf("next matrix: got %q, want main_work7 alone", got)
	}
	f.touch(".fail", false)
	f.of(1, "main_work7").do(0)
	f.joins(1).do(0).wantOutputs(t, "status", "completed")
	f.eachOnce()
}

// TestWorkOfPartsComesBackAsBranches: nothing of two parts is written over each other, and
// the checkout of the step that joins stays as the run itself left it.
func TestWorkOfPartsComesBackAsBranches(t *testing.T) {
	t.Parallel()
	f := &fanned{scene: newScene(t, `-- wf/START.sh --
# raymond: many_forks=true
echo planned >plan.txt
for i in 1 2; do echo "<fork next=\"WAIT.sh\" item=\"$i\">WORK.sh</fork>"; done
-- wf/WAIT.sh --
echo '<join>END.sh</join>'
-- wf/WORK.sh --
# raymond: job=work
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
	f.joins(1).do(0).wantOutputs(t, "status", "completed", "result", "own 1, own 2, planned")
}

// TestAPartOverItsShareOfTheBudget is red, and its agents are in the next matrix with a
// new share; with nothing left, the run is over its budget.
func TestAPartOverItsShareOfTheBudget(t *testing.T) {
	t.Parallel()
	f := &fanned{scene: newScene(t, `-- wf/START.sh --
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
`), inputs: []string{"budget", "0.05"}}
	overLimit := problem.ExitCodes[problem.ClassOverLimit]
	leg := func(part string, code int) ended {
		j := f.of(1, part)
		j.wrapped("")
		return j.do(code)
	}
	parts := legs(t, f.plan(1).do(0))
	if !slices.Equal(parts, []string{"main_cheap1", "main_dear2"}) {
		t.Fatalf("parts: got %q", parts)
	}
	leg(parts[0], 0).wantOutputs(t, "cost-usd", "0.01")
	leg(parts[1], overLimit).wantOutputs(t, "status", "over_budget", "cost-usd", "0.03")
	join := f.joins(1).do(0)
	join.wantOutputs(t, "status", "suspended", "cost-usd", "0.04")
	if got := legs(t, join); !slices.Equal(got, parts[1:]) {
		t.Fatalf("next matrix: got %q, want %q", got, parts[1:])
	}
	leg(parts[1], overLimit).wantOutputs(t, "status", "over_budget", "cost-usd", "0.06")
	f.joins(1).do(overLimit).wantOutputs(t, "status", "over_budget", "cost-usd", "0.06", "matrix", `{"include":[]}`)
}
