//go:build linux

package action_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// again is the job of a later attempt of a workflow run: somebody has pressed the
// button.
func (s *scene) again(run int64, attempt int, inputs ...string) *bareJob {
	return s.job(run, inputs...).set("GITHUB_RUN_ATTEMPT", fmt.Sprint(attempt))
}

// TestARerunResumesAFailedRun: what was paid for is not paid again.
func TestARerunResumesAFailedRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(threeScripts, "echo middle", `[ -e "$EFFECTS.go" ] || exit 1; echo middle`, 1))
	first := s.job(1).do(problem.ExitCodes[problem.ClassRunFailed])
	s.letGo()
	s.again(1, 2).do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"], "result", "all done")
	s.wantDone("start middle end")
}

// TestARerunAfterSuccessPutsBack outputs, work and page of the run, and starts
// nothing: a later step had failed. Another workflow run begins a new one.
func TestARerunAfterSuccessPutsBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(threeScripts, "echo middle", `echo made >made.txt; echo middle`, 1))
	first := s.job(1).do(0)
	j := s.again(1, 2)
	e := j.do(0)
	for _, name := range []string{"workflow-id", "status", "outcome", "result", "cost-usd", "iterations", "agents", "resumable", "state-artifact"} {
		if e.outputs[name] != first.outputs[name] {
			t.Errorf("output %s: got %q, want %q as in the first attempt", name, e.outputs[name], first.outputs[name])
		}
	}
	if got := j.read(filepath.Join(j.work, "made.txt")); got != "made\n" {
		t.Errorf("made.txt: got %q, want the work of the first attempt", got)
	}
	if events := j.read(e.outputs["events-file"]); strings.Count(events, `"run_finished"`) != 1 {
		t.Errorf("events: got %s, want those of the first attempt", events)
	}
	e.wantSays(t, "notice", "was completed by attempt 1", "nothing starts")
	if !strings.Contains(e.summary, "MIDDLE") || !strings.Contains(e.summary, "all done") {
		t.Errorf("summary: got %q, want that of the run", e.summary)
	}
	if n := len(s.forge.All()); n != 1 {
		t.Errorf("artifacts: got %d, want none but the first attempt's", n)
	}
	s.wantDone("start middle end")
	s.job(2).do(0)
	s.wantDone("start middle end start middle end")
}

// TestAJobThatMayStillRunIsLeftAlone: a second job of the same workflow run looks at the
// first one's status, and, where nobody tells it, at when it stored the run.
func TestAJobThatMayStillRunIsLeftAlone(t *testing.T) {
	t.Parallel()
	waits := strings.Replace(threeScripts, "echo middle", `until [ -e "$EFFECTS.go" ]; do sleep 0.01; done; echo middle`, 1)
	s := newScene(t, waits)
	j := s.job(1, "checkpoint-interval", "10s", "key", "k")
	c := j.start()
	c.Until("a checkpoint after the first state", func() bool {
		stored := s.forge.Checkpoints(t, nil)
		return slices.ContainsFunc(stored, func(r sitetest.StoredRun) bool { return r.Run.Agents[0].State == "MIDDLE.sh" })
	})
	second := func() *bareJob { return s.job(1, "key", "k").set("GITHUB_JOB", "other") }
	status := func(status string) {
		s.forge.Jobs = map[int64][]artifactstest.Job{1: {{Name: "build", Attempt: 1, Status: status}, {Name: "other", Attempt: 1, Status: "in_progress"}}}
	}
	// Where nobody tells the status, two intervals are left from here on.
	second().do(problem.ExitCodes[problem.ClassConflict]).wantSays(t, "error", `job "build"`, "https://example.test/o/r/actions/runs/1", "actions: read")
	status("in_progress")
	second().do(problem.ExitCodes[problem.ClassConflict]).wantSays(t, "error", `job "build"`, "https://example.test/o/r/actions/runs/1", "in_progress")
	j.site.KillAll(c)
	s.letGo()
	status("completed")
	second().do(0).wantOutputs(t, "status", "completed")
	s.wantDone("start middle end")
}

// changed is a scene whose run stopped before its workflow was changed.
func changedScene(t *testing.T) (*scene, ended) {
	s := newScene(t, threeScripts)
	first := s.stops(1, 1)
	acttest.Commit(t, s.repo, "-- wf/START.sh --\necho changed >>\"$EFFECTS\"; echo '<goto>MIDDLE.sh</goto>'\n"+
		"-- wf/END.sh --\necho changed end >>\"$EFFECTS\"; echo '<result>changed</result>'\n")
	return s, first
}

// TestWhatChangedWorkflowDecides: by default a run keeps the states that it began with,
// and what was decided is said.
func TestWhatChangedWorkflowDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inputs []string
		taken  bool
		result string
		says   string
	}{
		{nil, true, "all done", "changed-workflow: keep"},
		{[]string{"allow-changed-workflow", "true"}, true, "changed", "changed-workflow: take"},
		{[]string{"changed-workflow", "new"}, false, "changed", "a new run starts"},
	} {
		t.Run(fmt.Sprint(tt.inputs), func(t *testing.T) {
			t.Parallel()
			s, first := changedScene(t)
			e := s.job(2, append(tt.inputs, "max-iterations", "9")...).do(0)
			if taken := e.outputs["workflow-id"] == first.outputs["workflow-id"]; taken != tt.taken || e.outputs["result"] != tt.result {
				t.Errorf("got %v, want it resumed: %t, and the result %q", e.outputs, tt.taken, tt.result)
			}
			e.wantSays(t, "notice", tt.says, `"START.sh"`)
			if plain := strings.ReplaceAll(e.summary, `\`, ""); !strings.Contains(plain, "has changed since it began") {
				t.Errorf("summary: got %q, want it to say that the workflow has changed", plain)
			}
		})
	}
}

// TestOldStatesAreTheirCommits: of a shallow checkout they are fetched, a run that
// is resumed with them can be resumed so again.
func TestOldStatesAreTheirCommits(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.repo = s.shallow(s.repo)
	began := commitOf(t, s.repo)
	first := s.stops(1, 1)
	remote := s.remote(s.repo)
	for _, change := range []string{"changed", "changed again"} {
		work := filepath.Join(t.TempDir(), "work")
		gitIn(t, filepath.Dir(work), "clone", "-q", remote, work)
		acttest.Commit(t, work, "-- wf/START.sh --\necho "+change+"; echo '<goto>END.sh</goto>'\n-- wf/END.sh --\necho '<result>"+change+"</result>'\n")
		gitIn(t, work, "push", "-q", "origin", "main")
	}
	s.repo = s.shallow(s.repo)
	e := s.job(2, "max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(t, "workflow-id", first.outputs["workflow-id"])
	e.wantSays(t, "notice", "goes on at "+commitOf(t, s.repo)[:7]+", on the work begun at "+began[:7])
	s.job(3, "max-iterations", "9").do(0).wantOutputs(t, "workflow-id", first.outputs["workflow-id"], "result", "all done")
	s.wantDone("start middle end")
}

// TestStatesThatWereNeverCommitted can't be resumed once they have changed, and
// no new run takes the place of that one in silence.
func TestStatesThatWereNeverCommitted(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	edited := func(run int64, text string, inputs ...string) *bareJob {
		j := s.job(run, inputs...)
		file := filepath.Join(j.work, "wf", "START.sh")
		if err := os.WriteFile(file, []byte("echo "+text+" >>\"$EFFECTS\"; echo '<goto>MIDDLE.sh</goto>'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return j
	}
	first := edited(1, "one", "max-iterations", "1", "workspace", "none").do(problem.ExitCodes[problem.ClassOverLimit])
	e := edited(2, "two", "max-iterations", "9", "workspace", "none").do(problem.ExitCodes[problem.ClassConflict])
	e.wantOutputs(t, "error-class", "conflict", "status", "")
	e.wantSays(t, "error", "never committed", "START.sh", "changed-workflow: take", "changed-workflow: new")
	edited(3, "three", "max-iterations", "9", "workspace", "none", "changed-workflow", "take").do(0).
		wantOutputs(t, "workflow-id", first.outputs["workflow-id"])
}

// TestOldStatesOfOthersAreDenied: a branch that was forced to another history no
// longer has the commit, though the server still hands it out.
func TestOldStatesOfOthersAreDenied(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.repo = s.shallow(s.repo)
	s.stops(1, 1)
	remote := s.remote(s.repo)
	gitIn(t, remote, "update-ref", "refs/pull/9/head", "refs/heads/main") // as a fork's commits are kept
	work := acttest.Repository(t, strings.ReplaceAll(threeScripts, "echo start", "echo another history"))
	gitIn(t, work, "push", "-q", "--force", remote, "main")
	s.repo = s.shallow(s.repo)
	e := s.job(2, "max-iterations", "9").do(problem.ExitCodes[problem.ClassDenied])
	e.wantOutputs(t, "error-class", "denied", "status", "")
	e.wantSays(t, "error", "changed-workflow: take", "changed-workflow: new", "not in the history")
	s.wantDone("start")
}

// remote is where a checkout of shallow comes from.
func (s *scene) remote(repo string) string {
	return strings.TrimPrefix(strings.TrimSpace(gitIn(s.t, repo, "remote", "get-url", "origin")), "file://")
}

// shallow is a new checkout of the last commit alone, of the place where the given
// one came from, or of a bare repository made of it.
func (s *scene) shallow(repo string) string {
	s.t.Helper()
	remote := s.remote(repo)
	if strings.HasPrefix(remote, "https:") {
		remote = filepath.Join(s.t.TempDir(), "remote.git")
		gitIn(s.t, repo, "clone", "-q", "--bare", repo, remote)
	}
	dir := filepath.Join(s.t.TempDir(), "checkout")
	gitIn(s.t, s.t.TempDir(), "clone", "-q", "--depth=1", "file://"+remote, dir)
	return dir
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestWhatIsGivenAgain: meta counts from the next state on, and an input is refused
// with a warning, unless it is the one that the run began with.
func TestWhatIsGivenAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.ReplaceAll(threeScripts, "echo ", `echo "$RAYMOND_VAR_COLOR" >>"$EFFECTS"; echo `))
	s.stops(1, 1, "input", "first", "meta", "color=red\nsize=big")
	e := s.job(2, "input", "first", "meta", "color=red\nsize=big", "max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	if told := e.texts("warning"); len(told) > 0 {
		t.Errorf("the same again: got the warnings %q, want none", told)
	}
	e = s.job(3, "input", "second", "meta", "color=blue", "max-iterations", "9").do(0)
	e.wantSays(t, "warning", "input is not taken", "resume: never")
	e.wantSays(t, "notice", "meta has changed", "color")
	if got := s.done(); !strings.HasPrefix(got, "red") || !strings.HasSuffix(got, "blue end blue") || strings.Count(got, "blue") != 2 {
		t.Errorf("states that ran: got %q, want red in two and blue in the last", got)
	}
}
