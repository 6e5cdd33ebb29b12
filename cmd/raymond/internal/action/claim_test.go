//go:build linux

package action_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
)

// spending is a workflow that begins with a prompt, whose agent says that it was
// asked; the second state waits for a file.
const spending = `-- wf/START.md --
log: asked
reply:
<goto>HOLD.sh</goto>
end.
-- wf/HOLD.sh --
until [ -e "$EFFECTS.go" ]; do sleep 0.05; done
echo '<result>done</result>'
`

const sharedKey = "shared"

// rival is a job that claims the shared key.
func (s *scene) rival(run int64, job string) *bareJob {
	s.t.Helper()
	j := s.job(run, "key", sharedKey).set("GITHUB_JOB", job, "RUNNER_NAME", job).with("claude-path", sitetest.Stub.Path(s.t))
	return j.racing().set("ACTIONS_RUNTIME_TOKEN", artifactstest.JobToken(run, job))
}

// claims are the claims that stand.
func (s *scene) claims() []artifactstest.Stored {
	var out []artifactstest.Stored
	for _, a := range s.forge.All() {
		if strings.HasSuffix(a.Name, "-claim") {
			out = append(out, a)
		}
	}
	return out
}

// asked is how many agents were asked anything.
func (s *scene) asked() int { return strings.Count(s.done(), "asked") }

func (s *scene) wantAsked(n int) {
	s.t.Helper()
	if got := s.asked(); got != n {
		s.t.Errorf("agents that were asked: got %d, want %d", got, n)
	}
}

func (s *scene) letGo() {
	s.t.Helper()
	if err := os.WriteFile(s.effects+".go", nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// claimedOn are the services that jobs may run on.
var claimedOn = map[string]func(*sitetest.Forge, *bareJob){
	"GitHub": func(*sitetest.Forge, *bareJob) {},
	"Gitea": func(f *sitetest.Forge, j *bareJob) {
		f.AsGitea()
		asGitea(j)
	},
	"act": func(f *sitetest.Forge, j *bareJob) {
		f.AsAct()
		j.set("ACT", "true")
	},
}

// TestOfTwoJobsAtOnceOneSpends: GitHub's service decides between two that begin in
// the same moment. Where names are replaced the second one begins when the first
// one's claim stands; of what comes before that package keep has a test. The other is red at once, stores nothing and isn't resumable,
// neither by its post part.
func TestOfTwoJobsAtOnceOneSpends(t *testing.T) {
	t.Parallel()
	for name, as := range claimedOn {
		s := newScene(t, spending)
		var jobs []*bareJob
		var started []*sitetest.Command
		for _, job := range []string{"one", "two"} {
			j := s.rival(1, job)
			as(s.forge, j)
			jobs = append(jobs, j)
		}
		for i, j := range jobs {
			started = append(started, j.start())
			if i == 0 && name != "GitHub" { // the others replace what is stored at the same moment
				started[0].Until("the first claim", func() bool { return len(s.claims()) == 1 })
			}
		}
		loser := 0
		select {
		case <-started[0].Done:
		case <-started[1].Done:
			loser = 1
		}
		e := jobs[loser].end(started[loser])
		e.wantOutputs(t, "error-class", "conflict", "resumable", "false", "cost-usd", "0", "state-artifact", "")
		if e.Code != problem.ExitCodes[problem.ClassConflict] {
			t.Errorf("%s: second job: got %v, want a conflict", name, e)
		}
		if strings.Contains(e.Stdout, "unknown of") {
			t.Errorf("%s: second job: got %v, want it known that nothing was spent", name, e)
		}
		for _, part := range []string{sharedKey, jobs[1-loser].env["GITHUB_JOB"], "actions: read"} {
			if !strings.Contains(e.Stderr, part) {
				t.Errorf("%s: stderr: got %q, want %q in it", name, e.Stderr, part)
			}
		}
		s.wantAsked(1)
		before := len(s.forge.All())
		if p := jobs[loser].end(jobs[loser].command("action-post")); p.Code != 0 || len(s.forge.All()) != before {
			t.Errorf("%s: its post part: got %v, %d artifacts more; want nothing stored", name, p, len(s.forge.All())-before)
		}
		s.letGo()
		if e := jobs[1-loser].end(started[1-loser]); e.Code != 0 || e.outputs["result"] != "done" {
			t.Errorf("%s: first job: got %v, want it completed", name, e)
		}
		if left := s.claims(); len(left) > 0 {
			t.Errorf("%s: claims in the end: got %v, want none", name, names(left))
		}
	}
}

// TestAClaimOfWhoIsGoneIsReplaced: of a process of this machine that was killed,
// of an earlier attempt, and of an earlier step of this job. A cancelled step's
// post part gives its own up.
func TestAClaimOfWhoIsGoneIsReplaced(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	first := s.rival(1, "one")
	c := first.start()
	c.Until("the first agent, and the claim", func() bool { return s.asked() == 1 && len(s.claims()) == 1 })
	s.forge.ChangeRun(1, func(run *artifactstest.Run) {
		*run = artifactstest.Run{
			ID: 1, Event: "workflow_dispatch", Status: "in_progress", Path: ".github/workflows/agent.yml",
			HeadBranch: "main", HeadRepository: artifactstest.Repository,
		}
	})
	first.site.KillAll(c)
	s.letGo()
	second := s.rival(1, "two").with("resume", "never")
	second.do(0)
	if got := s.claims(); len(got) != 0 {
		t.Errorf("claims after the second job: got %v, want none", names(got))
	}
	if e := first.end(first.command("action-post")); e.Code != 0 && e.Code != problem.ExitCodes[problem.ClassConflict] {
		t.Errorf("post of the first: got %v", e)
	}
}

// TestWhatIsNoClaimIsLeftAlone: somebody else uses the name.
func TestWhatIsNoClaimIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	s.forge.Put(artifactstest.Stored{Run: 1, Name: slots.ClaimName(sharedKey), Content: []byte("x")})
	s.rival(1, "one").do(problem.ExitCodes[problem.ClassConflict]).wantSays(t, "error", "no claim of this action")
	s.wantAsked(0)
	if got := s.claims(); len(got) != 1 {
		t.Errorf("claims: got %v, want theirs", names(got))
	}
}

// TestAClaimThatCanNotBeStoredIsWarnedOf: the run starts after ten seconds. A
// conflict that is learned later ends it, and its cost is told.
func TestAClaimThatCanNotBeStoredIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	s.letGo()
	s.forge.Fail(artifactstest.Fault{Op: "ListArtifacts", Times: 999, Status: 403})
	e := s.rival(1, "one").with("resume", "never").do(problem.ExitCodes[problem.ClassStore])
	s.wantAsked(1)
	e.wantSays(t, "warning", "could not be claimed")
	e.wantOutputs(t, "cost-usd", "0.01")
}

// TestAConflictThatIsLearnedLaterEndsTheRun: somebody replaced the claim without
// a word. What was spent is told, and nothing is stored any more.
func TestAConflictThatIsLearnedLaterEndsTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(spending, "HOLD.sh</goto>", "TICK.sh</goto>", 1)+
		"-- wf/TICK.sh --\nsleep 0.2; echo '<goto>TICK.sh</goto>'\n")
	s.forge.Replaces = true
	j := s.rival(1, "one").with("checkpoint-interval", "1s")
	c := j.start()
	c.Until("the claim", func() bool { return s.asked() == 1 && len(s.claims()) == 1 })
	other := s.rival(1, "two")
	claim := s.claims()[0]
	s.forge.Put(artifactstest.Stored{Run: 1, Name: claim.Name, Content: anotherClaim(t, other)})
	e := j.end(c)
	if e.Code != problem.ExitCodes[problem.ClassConflict] {
		t.Errorf("got %v, want a conflict", e)
	}
	e.wantOutputs(t, "error-class", "conflict", "resumable", "false", "cost-usd", "0.01")
	if got := s.claims(); len(got) != 1 {
		t.Errorf("claims: got %v, want the other's alone", names(got))
	}
}

// TestWhetherAHoldersJobIsOverIsAskedOfTheAPI: of one on another machine, whose
// process nobody here knows. Where the API doesn't tell, its claim counts.
func TestWhetherAHoldersJobIsOverIsAskedOfTheAPI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		jobs map[int64][]artifactstest.Job
		want int
	}{
		"over":        {map[int64][]artifactstest.Job{1: {{Name: "one", Status: "in_progress"}, {Name: "two", Status: "completed"}}}, 0},
		"in progress": {map[int64][]artifactstest.Job{1: {{Name: "one", Status: "completed"}, {Name: "two", Status: "in_progress"}}}, problem.ExitCodes[problem.ClassConflict]},
		"not told":    {nil, problem.ExitCodes[problem.ClassConflict]},
	} {
		s := newScene(t, spending)
		s.letGo()
		s.forge.Jobs = c.jobs
		j := s.rival(1, "one").with("resume", "never")
		s.forge.Put(artifactstest.Stored{Run: 1, Name: slots.ClaimName(sharedKey), Content: anotherClaim(t, s.rival(1, "two"))})
		e := j.end(j.start())
		if e.Code != c.want {
			t.Errorf("%s: got %v, want exit code %d", name, e, c.want)
		}
		asked := slices.ContainsFunc(s.forge.Questions(), func(q string) bool { return strings.HasSuffix(q, "actions/runs/1/jobs") })
		if !asked {
			t.Errorf("%s: questions: got %q, want one about the jobs", name, s.forge.Questions())
		}
		if c.want != 0 {
			e.wantSays(t, "error", sharedKey, `"two"`, "actions: read")
			s.wantAsked(0)
		}
	}
}

// anotherClaim is the archive of a claim of another job.
func anotherClaim(t *testing.T, j *bareJob) []byte {
	t.Helper()
	holder := fmt.Sprintf(`{"schema":1,"id":"x","key":%q,"holder":"other","run_id":1,"run_attempt":1,"job":%q,"step":"s","created":"2999-01-01T00:00:00Z","process":{"machine":"","pid":1,"started":"1"}}`,
		sharedKey, j.env["GITHUB_JOB"])
	var b bytes.Buffer
	p := archive.NewPacker(&b)
	if err := errors.Join(p.Add("claim.json", strings.NewReader(holder)), p.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
