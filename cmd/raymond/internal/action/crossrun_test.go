//go:build linux

package action_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// threeScripts is a workflow of scripts, on a tree that stays clean.
const threeScripts = `-- wf/START.sh --
echo start >>"$EFFECTS"; echo '<goto>MIDDLE.sh</goto>'
-- wf/MIDDLE.sh --
echo middle >>"$EFFECTS"; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo end >>"$EFFECTS"; echo '<result>all done</result>'
`

// agentAtWork is a workflow of two agents in one conversation, the first of which
// leaves a file that is not committed.
const agentAtWork = `-- wf/START.md --
reply:
<goto>EDIT.sh</goto>
end.
-- wf/EDIT.sh --
echo work >work.txt; echo '<goto>END.md</goto>'
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
`

// scene is a repository and its forge, and what its runs do.
type scene struct {
	t       *testing.T
	forge   *sitetest.Forge
	repo    string
	effects string
}

func newScene(t *testing.T, archive string) *scene {
	t.Helper()
	return &scene{t, sitetest.NewForge(t), acttest.Repository(t, archive), filepath.Join(t.TempDir(), "effects")}
}

// job begins the job of another workflow run, on another machine.
func (s *scene) job(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return newJob(s.t, s.forge, s.repo, run).set("EFFECTS", s.effects, "SIDE_EFFECTS", s.effects).
		with("env", "EFFECTS SIDE_EFFECTS").with(inputs...)
}

// stops is a first workflow run that stops after n states and is stored.
func (s *scene) stops(run int64, n int, inputs ...string) ended {
	s.t.Helper()
	e := s.job(run, append(inputs, "max-iterations", strconv.Itoa(n))...).do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(s.t, "status", "over_iterations", "resumable", "true")
	return e
}

// done are the states that have had an effect.
func (s *scene) done() string {
	s.t.Helper()
	data, err := os.ReadFile(s.effects)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

func (s *scene) wantDone(want string) {
	s.t.Helper()
	if got := s.done(); got != want {
		s.t.Errorf("states that ran: got %q, want %q", got, want)
	}
}

// TestTheNextWorkflowRunResumes where the one before it stopped: on GitHub and on
// Gitea, without a state-key in a private repository, and in a public one when
// there is nothing that is not stored.
func TestTheNextWorkflowRunResumes(t *testing.T) {
	t.Parallel()
	for gitea, payload := range map[bool]string{false: "{" + inPublic + "}", true: "{" + inPrivate + "}"} {
		s := newScene(t, threeScripts)
		change := func(j *bareJob) *bareJob {
			j.payload = payload
			if gitea {
				j.set("GITEA_ACTIONS", "true", "GITHUB_REPOSITORY_ID", "")
			}
			return j
		}
		if gitea {
			s.forge.AsGitea()
		}
		first := change(s.job(1, "max-iterations", "1")).do(problem.ExitCodes[problem.ClassOverLimit])
		first.wantOutputs(t, "status", "over_iterations", "error-class", "over_limit", "resumable", "true", "iterations", "1")
		if !strings.Contains(first.summary, "max-iterations") && !strings.Contains(first.summary, "agent-main") {
			t.Errorf("summary: got %q, want how to resume", first.summary)
		}
		second := change(s.job(2, "max-iterations", "2")).do(problem.ExitCodes[problem.ClassOverLimit])
		third := change(s.job(3, "max-iterations", "10", "resume", "require")).do(0)
		third.wantOutputs(t, "status", "completed", "result", "all done", "iterations", "3", "resumable", "false",
			"workflow-id", first.outputs["workflow-id"])
		s.wantDone("start middle end")
		if all := s.forge.Checkpoints(t, nil); all[len(all)-1].Manifest.Base == nil || all[len(all)-1].Manifest.Base.RunID != 2 {
			t.Errorf("gitea: %v: the last checkpoint is based on %+v, want workflow run 2", gitea, all[len(all)-1].Manifest.Base)
		}
		if second.outputs["workflow-id"] != first.outputs["workflow-id"] {
			t.Errorf("second run: got %v, want the first one's", second.outputs)
		}
		fourth := change(s.job(4)).do(0)
		if fourth.outputs["workflow-id"] == first.outputs["workflow-id"] {
			t.Errorf("after a completed run: got %v, want a new one", fourth.outputs)
		}
		change(s.job(5, "resume", "require")).do(problem.ExitCodes[problem.ClassUsage]).wantOutputs(t, "error-class", "usage")
	}
}

// TestADeadlineSuspends: the step is green, or fails when that is asked for, and
// the next workflow run resumes without a change.
func TestADeadlineSuspends(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.ReplaceAll(threeScripts, "echo '<goto>", "sleep 0.4; echo '<goto>"))
	first := s.job(1, "deadline", "200ms").do(0)
	first.wantOutputs(t, "status", "suspended", "resumable", "true", "error-class", "suspended")
	s.job(2, "deadline", "200ms", "suspended-is-failure", "true").do(problem.ExitCodes[problem.ClassSuspended])
	s.job(3).do(0).wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
	s.wantDone("start middle end")
}

// TestArtifactsOfOthersAreNotTaken: one of a fork, of another workflow or of
// another branch is passed over with a notice though it is the newest.
func TestArtifactsOfOthersAreNotTaken(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.stops(1, 1)
	content := s.forge.All()[0]
	for run, change := range map[int64]func(*artifactstest.Run){
		11: func(r *artifactstest.Run) { r.HeadRepository = 99 },
		12: func(r *artifactstest.Run) { r.Path = ".github/workflows/other.yml" },
		13: func(r *artifactstest.Run) { r.HeadBranch = "topic" },
	} {
		other := s.forge.Runs[1]
		other.ID = run
		change(&other)
		s.forge.Runs[run] = other
		s.forge.Put(artifactstest.Stored{Run: run, Name: content.Name, Content: []byte("not even a checkpoint")})
	}
	e := s.job(2, "max-iterations", "9", "resume", "require").do(0)
	e.wantOutputs(t, "workflow-id", first.outputs["workflow-id"], "status", "completed")
	e.wantSays(t, "notice", "workflow run 11", "fork")
	e.wantSays(t, "notice", "workflow run 12", "other.yml", "resume-from")
	e.wantSays(t, "notice", "workflow run 13", `"topic"`)
	s.wantDone("start middle end")
}

// TestRunsOfOtherWorkflowFiles are resumed if resume-from names their file.
func TestRunsOfOtherWorkflowFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.job(1, "key", "k", "max-iterations", "1").set("GITHUB_WORKFLOW_REF", "o/r/.github/workflows/nightly.yml@refs/heads/main")
	s.forge.ChangeRun(1, func(run *artifactstest.Run) { run.Path = ".github/workflows/nightly.yml" })
	id := first.do(problem.ExitCodes[problem.ClassOverLimit]).outputs["workflow-id"]
	s.job(2, "key", "k", "max-iterations", "9", "resume", "require").do(problem.ExitCodes[problem.ClassUsage]).wantSays(t, "notice", "nightly.yml", "resume-from")
	s.job(3, "key", "k", "max-iterations", "9", "resume-from", "weekly.yml, nightly.yml").do(0).wantOutputs(t, "status", "completed", "workflow-id", id)
	s.wantDone("start middle end")
}

// TestWithoutAccessANewRunStarts with one warning that names the permission, and
// with resume: require it doesn't.
func TestWithoutAccessANewRunStarts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene, *bareJob){
		"no token": func(_ *scene, j *bareJob) { j.with("github-token", "") },
		"forbidden": func(s *scene, _ *bareJob) {
			s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 9, Status: 403})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, threeScripts)
			s.t = t
			first := s.stops(1, 1)
			required, j := s.job(2, "max-iterations", "9", "resume", "require"), s.job(3, "max-iterations", "9")
			change(s, required)
			change(s, j)
			c := required.start() // beside the other: each may look for 10 seconds
			e := j.do(0)
			if got := e.texts("warning"); len(got) != 1 || !strings.Contains(got[0], "actions: read") || e.outputs["workflow-id"] == first.outputs["workflow-id"] {
				t.Errorf("got %v with the warnings %q, want a new run and one warning that names actions: read\n%v", e.outputs, got, e)
			}
			s.wantDone("start start middle end")
			e = required.end(c)
			if e.wantSays(t, "error", "actions: read"); e.Code != problem.ExitCodes[problem.ClassStore] || e.outputs["error-class"] != "store" || e.outputs["status"] != "" {
				t.Errorf("resume: require: got %v %q, want exit code %d and nothing begun", e, e.outputs, problem.ExitCodes[problem.ClassStore])
			}
		})
	}
}

// TestAServiceThatFailsEndsTheStep: no new run takes the place of one that may
// be there.
func TestAServiceThatFailsEndsTheStep(t *testing.T) {
	t.Parallel()
	var scenes []*scene
	var jobs []*bareJob
	var running []*sitetest.Command
	for op, change := range map[string]func(*scene, *bareJob){
		"actions/artifacts": nil,
		"dead proxy": func(_ *scene, j *bareJob) {
			j.set("GITHUB_API_URL", "http://api.example.test/api", "HTTP_PROXY", "http://127.0.0.1:1")
		},
		// Gitea's runner is made of act, and says ACT=true, but it has earlier runs.
		"no address on Gitea": func(_ *scene, j *bareJob) {
			j.set("GITHUB_API_URL", "http://127.0.0.1:1/api", "GITEA_ACTIONS", "true", "ACT", "true")
		},
		"rate limit": func(s *scene, _ *bareJob) {
			s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts", Times: 1000, Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0"}})
		},
	} {
		s := newScene(t, threeScripts)
		s.stops(1, 1)
		j := s.job(2, "max-iterations", "9")
		if change == nil {
			s.forge.Fail(artifactstest.Fault{Op: op, Times: 1000, Status: 503})
		} else {
			change(s, j)
		}
		scenes, jobs, running = append(scenes, s), append(jobs, j), append(running, j.start())
	}
	// Each tries for half a minute, all at once.
	for i, c := range running {
		e := jobs[i].end(c)
		if e.Code != problem.ExitCodes[problem.ClassStore] {
			t.Errorf("got %v, want exit code %d", e, problem.ExitCodes[problem.ClassStore])
		}
		e.wantOutputs(t, "error-class", "store", "status", "")
		e.wantSays(t, "error", "resume: never")
		if strings.Contains(e.String(), "actions: read") {
			t.Errorf("got %v, want no permission blamed", e)
		}
		scenes[i].wantDone("start")
	}
}

// TestADamagedNewestIsNotPassedOver for an older one: neither what is cut short nor
// the archive of another workflow run.
func TestADamagedNewestIsNotPassedOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	s.stops(1, 1)
	good := s.forge.All()[0]
	s.stops(2, 2)
	all := s.forge.All()
	last := all[len(all)-1]
	for resume, content := range map[string][]byte{"auto": last.Content[:len(last.Content)-30], "require": good.Content} {
		s.forge.Put(artifactstest.Stored{Run: 2, Name: last.Name, Content: content})
		e := s.job(3, "max-iterations", "9", "resume", resume).do(problem.ExitCodes[problem.ClassBadState])
		e.wantOutputs(t, "error-class", "bad_state", "status", "")
		if len(e.texts("error")) != 1 {
			t.Errorf("resume: %s: errors: got %q, want one", resume, e.texts("error"))
		}
	}
	s.wantDone("start middle")
}

// TestStateKeys: a sealed checkpoint needs its key, keys can be rotated, and no
// other key and no forgery is taken for the right one.
func TestStateKeys(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	old, next, foreign := sitetest.NewStateKey(t), sitetest.NewStateKey(t), sitetest.NewStateKey(t)
	open := s.job(1, "state-key", old)
	open.payload = "{" + inPublic + "}"
	open.wrapped("")
	open.with("max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	for _, a := range s.forge.All() {
		if bytes.Contains(a.Content, []byte("START.md")) || bytes.Contains(a.Content, []byte("work.txt")) {
			t.Errorf("artifact %s: got a workflow's text in it, want it sealed", a.Name)
		}
	}
	for _, test := range []struct {
		key   string
		class problem.Class
		says  string
	}{{"", problem.ClassDenied, "state-key"}, {foreign, problem.ClassBadState, ""}} {
		e := s.job(2, "state-key", test.key, "max-iterations", "9").do(problem.ExitCodes[test.class])
		e.wantOutputs(t, "error-class", string(test.class), "status", "")
		e.wantSays(t, "error", test.says)
	}
	j := s.job(3, "state-key", next+"\n"+old, "max-iterations", "9", "resume", "require")
	j.wrapped("")
	e := j.do(0)
	e.wantOutputs(t, "status", "completed", "result", "all done")
	if got := j.read(filepath.Join(j.work, "work.txt")); got != "work\n" {
		t.Errorf("work.txt: got %q, want what the run before it left", got)
	}
	keys, err := checkpoint.ParseKeys(next)
	if err != nil {
		t.Fatal(err)
	}
	all := s.checkpoints()
	if got := sitetest.ReadStored(t, all[len(all)-1], keys); got.Run.WorkflowID != e.outputs["workflow-id"] {
		t.Errorf("the last checkpoint, opened with the new key alone: got %s, want %s", got.Run.WorkflowID, e.outputs["workflow-id"])
	}
	if names := slotNames(s.forge); len(names) > 3 {
		t.Errorf("names: got %q, want three", names)
	}
}

// slotNames are the names under which checkpoints are stored.
func slotNames(f *sitetest.Forge) []string {
	var names []string
	for _, a := range f.All() {
		if sitetest.IsCheckpoint(a) && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}
