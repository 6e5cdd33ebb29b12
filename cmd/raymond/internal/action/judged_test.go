//go:build linux

package action_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestAPublicRepositoryKeepsConversationsToItself: without a state-key neither
// they nor the workspace are stored, people are told, and no other machine goes
// on without them unless that is asked for.
func TestAPublicRepositoryKeepsConversationsToItself(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	public := func(run int64, inputs ...string) *bareJob {
		j := s.job(run, inputs...)
		j.payload = "{" + inPublic + "}"
		j.wrapped("")
		return j
	}
	first := public(1, "max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	for _, what := range []string{"transcripts", "workspace"} {
		if !strings.Contains(first.summary, "lacks the "+what) || !strings.Contains(first.summary, "state-key") {
			t.Errorf("summary: got %q, want it to say that %s are not stored, and why", first.summary, what)
		}
	}
	first.wantOutputs(t, "status", "over_iterations", "resumable", "false")
	first.wantSays(t, "error", "nobody can resume this run", "transcripts and workspace", "resume-without-transcript: true", "state-key")
	if !strings.Contains(first.summary, "With `resume-without-transcript: true` a later run continues") {
		t.Errorf("summary: got %q, want it to say how to resume without them", first.summary)
	}
	stored := s.forge.Checkpoints(t, nil)
	last := stored[len(stored)-1]
	if got := fmt.Sprint(last.Manifest.LeftOut); got != "[{transcripts true key} {workspace true key}]" {
		t.Errorf("left out: got %s, want both, which held something", got)
	}
	for _, name := range []string{"transcripts", "workspace"} {
		if sitetest.Exists(filepath.Join(last.Dir, name)) {
			t.Errorf("checkpoint: got the folder %s, want none", name)
		}
	}
	for _, resume := range []string{"require", first.outputs["workflow-id"]} {
		e := public(2, "max-iterations", "9", "resume", resume).do(problem.ExitCodes[problem.ClassDenied])
		e.wantOutputs(t, "error-class", "denied", "status", "")
		e.wantSays(t, "error", "state-key", "resume-without-transcript: true", "transcripts and workspace")
	}
	third := public(3, "max-iterations", "9", "resume-without-transcript", "true")
	third.do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
	if args := third.read(filepath.Join(third.root, "notes", "args")); strings.Contains(args, "--resume") || !strings.Contains(args, "--session-id") {
		t.Errorf("arguments of the agent CLI: got %q, want a new conversation", args)
	}
}

// TestANewRunAfterACompletedOneIsNoNews: an hourly workflow would have an
// annotation in each run. The summary says it all the same.
func TestANewRunAfterACompletedOneIsNoNews(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.job(1).do(0)
	second := s.job(2).do(0)
	told := slices.DeleteFunc(second.texts("notice"), func(text string) bool { return !strings.Contains(text, "new run") })
	summary := strings.ReplaceAll(second.summary, `\`, "")
	if len(told) > 0 || !strings.Contains(summary, "A new run was started: run "+first.outputs["workflow-id"]+" is completed") {
		t.Errorf("notices: got %q, want none of a new run\nsummary: got %s\nwant it in there", told, second.summary)
	}
}

// TestANewStateKeyNeedsANewRun, once: what was stored before it is not signed.
func TestANewStateKeyNeedsANewRun(t *testing.T) {
	t.Parallel()
	s, key := newScene(t, threeScripts), sitetest.NewStateKey(t)
	s.stops(1, 1)
	e := s.job(2, "state-key", key).do(problem.ExitCodes[problem.ClassBadState])
	e.wantSays(t, "error", "not signed", "where state-key is new, run once with resume: never")
	s.job(3, "state-key", key, "resume", "never", "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	s.job(4, "state-key", key).do(0).wantOutputs(t, "status", "completed", "iterations", "3")
}

// TestARunUnderWayIsLeftAlone: who drives it is named, and when that is over the
// next workflow run resumes from the last checkpoint.
func TestARunUnderWayIsLeftAlone(t *testing.T) {
	t.Parallel()
	waits := strings.Replace(threeScripts, "echo middle", `until [ -e "$EFFECTS.go" ]; do sleep 0.01; done; echo middle`, 1)
	s := newScene(t, waits)
	j := s.job(1, "checkpoint-interval", "1s")
	c := j.start()
	c.Until("a checkpoint of a run under way", func() bool { return len(s.forge.Checkpoints(t, nil)) == 1 })
	for _, resume := range []string{"auto", "require"} {
		e := s.job(2, "resume", resume).do(problem.ExitCodes[problem.ClassConflict])
		e.wantOutputs(t, "error-class", "conflict", "status", "")
		e.wantSays(t, "error", s.forge.URL+"/runs/1", "in_progress", `job "build"`)
	}
	j.site.KillAll(c)
	s.letGo()
	s.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Status = "completed" })
	id := s.forge.Checkpoints(t, nil)[0].Run.WorkflowID
	s.job(3, "resume", "require").do(0).wantOutputs(t, "status", "completed", "workflow-id", id)
	s.wantDone("start middle end")
}

// TestWhichFailedRunsAreResumed has how a run ended, and what the next workflow run does.
func TestWhichFailedRunsAreResumed(t *testing.T) {
	t.Parallel()
	failing := strings.Replace(threeScripts, "echo middle", `[ -e "$EFFECTS.go" ] || exit 1; echo middle`, 1)
	onIssue := func(n int) func(*bareJob) {
		return func(j *bareJob) {
			j.on("issues", event(person("ann"), fmt.Sprintf(`"issue":{"number":%d}`, n)))
			j.with("key", "k")
		}
	}
	keyed := func(j *bareJob) { j.with("key", "k") }
	for _, test := range []struct {
		name          string
		before, after func(*bareJob)
		taken         bool
	}{
		{"a failed run, the same issue", onIssue(7), onIssue(7), true},
		{"a failed run, another issue", onIssue(7), onIssue(8), false},
		{"a failed run of no issue, on one", keyed, onIssue(7), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t, failing)
			first := s.job(1)
			test.before(first)
			e := first.do(problem.ExitCodes[problem.ClassRunFailed])
			e.wantOutputs(t, "status", "failed", "error-class", "run_failed")
			s.letGo()
			id := e.outputs["workflow-id"]
			second := s.job(2)
			test.after(second)
			e = second.do(0)
			want := map[bool]string{true: "start middle end", false: "start start middle end"}[test.taken]
			if s.wantDone(want); (e.outputs["workflow-id"] == id) != test.taken {
				t.Errorf("got run %s, want %s resumed: %v", e.outputs["workflow-id"], id, test.taken)
			}
			if !test.taken {
				e.wantSays(t, "notice", "a new run starts", id, "has failed")
			}
		})
	}
}

// TestAFailedRunIsResumedByItsID.
func TestAFailedRunIsResumedByItsID(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(threeScripts, "echo middle", `[ -e "$EFFECTS.go" ] || exit 1; echo middle`, 1))
	first := s.job(1).do(problem.ExitCodes[problem.ClassRunFailed])
	s.letGo()
	s.job(2, "resume", "no-such-run-00000000").do(problem.ExitCodes[problem.ClassUsage]).wantSays(t, "error", "no-such-run-00000000")
	s.job(3, "resume", first.outputs["workflow-id"]).do(0).wantOutputs(t, "workflow-id", first.outputs["workflow-id"])
	s.wantDone("start middle end")
}

// TestOverBudgetNeedsALargerOne: a run that is over its limit stays where it is.
func TestOverBudgetNeedsALargerOne(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	with := func(run int64, inputs ...string) *bareJob {
		j := s.job(run, inputs...)
		j.wrapped("")
		return j
	}
	first := with(1, "budget", "0.005").do(problem.ExitCodes[problem.ClassOverLimit])
	first.wantOutputs(t, "status", "over_budget", "cost-usd", "0.01")
	e := with(2, "budget", "0.01", "resume", "require").do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(t, "error-class", "over_limit", "status", "")
	e.wantSays(t, "error", "larger input budget")
	e = with(3, "budget", "0.005").do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantSays(t, "notice", "a new run starts", first.outputs["workflow-id"], "budget")
	with(4, "budget", "5", "resume", "require").do(0).wantOutputs(t, "status", "completed", "workflow-id", e.outputs["workflow-id"], "cost-usd", "0.02")
}

// TestAnEditOfTheWorkflowIsNotRun: what an agent or a script made of the states'
// files is put back with its other work, and what runs is what was checked out.
func TestAnEditOfTheWorkflowIsNotRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(threeScripts, "echo start", `echo 'echo injected >>"$EFFECTS"; echo "<result>injected</result>"' | tee wf/MIDDLE.sh >wf/END.sh; echo start`, 1))
	first := s.stops(1, 1)
	j := s.job(2, "max-iterations", "9")
	j.do(0).wantOutputs(t, "workflow-id", first.outputs["workflow-id"], "result", "all done")
	s.wantDone("start middle end")
	if got := j.read(filepath.Join(j.work, "wf", "MIDDLE.sh")); !strings.Contains(got, "injected") {
		t.Errorf("wf/MIDDLE.sh in the workspace: got %q, want the work of the run before", got)
	}
}

// TestStoreLocal keeps runs in a folder of the machine, and asks nobody.
func TestStoreLocal(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	dir := t.TempDir()
	local := func(run int64, inputs ...string) *bareJob {
		return s.job(run, append(inputs, "store", "local", "state-dir", dir)...)
	}
	first := local(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	local(2, "max-iterations", "1", "resume", "require").do(problem.ExitCodes[problem.ClassOverLimit]).wantOutputs(t, "error-class", "over_limit")
	e := local(3, "max-iterations", "9").do(0)
	e.wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"], "state-artifact", "")
	s.wantDone("start middle end")
	if asked := s.forge.Questions(); len(asked) > 0 || !sitetest.Exists(filepath.Join(dir, "o", "r", first.outputs["workflow-id"]+".json")) {
		t.Errorf("requests: got %q, want none, and the state in the folder", asked)
	}
	local(4, "key", "another", "resume", "require").do(problem.ExitCodes[problem.ClassUsage])
}

// TestASuspendedStepThatIsNotKeptFails: what only this machine has is lost with it, so
// the step is not green. The state stays on the machine.
func TestASuspendedStepThatIsNotKeptFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.ReplaceAll(threeScripts, "echo '<goto>", "sleep 0.4; echo '<goto>"))
	s.forge.Fail(artifactstest.Fault{Op: "CreateArtifact", Times: 1000, Status: 403})
	j := s.job(1, "deadline", "200ms")
	e := j.do(problem.ExitCodes[problem.ClassStore])
	e.wantOutputs(t, "status", "suspended", "resumable", "false", "error-class", "store", "state-artifact", "")
	e.wantSays(t, "error", "last checkpoint", "state is kept")
	kept := slices.ContainsFunc(j.stateFiles(), func(f string) bool { return strings.HasSuffix(f, e.outputs["workflow-id"]+".json") })
	if !kept {
		t.Errorf("files of the state: got %q, want the run's", j.stateFiles())
	}
}
