//go:build linux

package action_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// threePrompts is a workflow of prompts, each of which costs a cent.
const threePrompts = `-- wf/START.md --
log: start
reply:
<goto>MIDDLE.md</goto>
end.
-- wf/MIDDLE.md --
log: middle
reply:
<goto>END.md</goto>
end.
-- wf/END.md --
log: end
reply:
<result>all done</result>
end.
`

// spendings are the names of the artifacts that say what jobs have spent.
func (s *scene) spendings() []string {
	return slices.DeleteFunc(names(s.forge.All()), func(name string) bool { return !strings.HasPrefix(name, "raymond-spent-") })
}

// wantLogged checks which prompts have run.
func (s *scene) wantLogged(want string) {
	s.t.Helper()
	var got []string
	for _, m := range regexp.MustCompile(`"text":"(\w+)"`).FindAllStringSubmatch(s.done(), -1) {
		got = append(got, m[1])
	}
	if strings.Join(got, " ") != want {
		s.t.Errorf("prompts that ran: got %q, want %q", got, want)
	}
}

// wantSpent checks how much each job has stored that it has spent, in micro-dollars.
func (s *scene) wantSpent(micro ...string) {
	s.t.Helper()
	var got []string
	for _, name := range s.spendings() {
		m := regexp.MustCompile(`^raymond-spent-[0-9a-f]{12}-[0-9a-f]{12}-([0-9]+)-[0-9]+-1-build(~[0-9a-f]+)?$`).FindStringSubmatch(name)
		if m == nil {
			s.t.Fatalf("got the name %q", name)
		}
		got = append(got, m[1])
	}
	if !slices.Equal(got, micro) {
		s.t.Errorf("stored as spent: got %q, want %q", got, micro)
	}
}

// TestBudgetsOfManyRuns: the runs of a key, and those of the workflow file, are held to what
// they may cost together. The limit that is reached is named, nothing starts while it is,
// and the run continues with a larger one, or when there is room again.
func TestBudgetsOfManyRuns(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"github": "budget-per-key", "gitea": "budget-per-day"} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, threePrompts)
			job := func(run int64, inputs ...string) *bareJob {
				j := s.talks(run, inputs...)
				if name == "gitea" {
					s.forge.AsGitea()
					asGitea(j)
				}
				return j
			}
			first := job(1).do(0)
			first.wantOutputs(t, "status", "completed", "cost-usd", "0.03")
			s.wantSpent("30000")

			overLimit := problem.ExitCodes[problem.ClassOverLimit]
			second := job(2, input, "0.04").do(overLimit)
			second.wantOutputs(t, "status", "over_budget", "error-class", "over_limit", "cost-usd", "0.01", "resumable", "true")
			second.wantSays(t, "error", input, "$0.04 of $0.04 in 24 hours")
			if !strings.Contains(second.summary, "Raise `"+input+"` above `$0.04`") {
				t.Errorf("summary: got\n%s\nwant what can be done", second.summary)
			}
			s.wantLogged("start middle end start")
			s.wantSpent("30000", "10000")

			third := job(3, input, "0.04").do(overLimit)
			third.wantOutputs(t, "status", "over_budget", "workflow-id", second.outputs["workflow-id"], "cost-usd", "0.01")
			s.wantLogged("start middle end start")
			s.wantSpent("30000", "10000")

			job(4, input, "0.06").do(0).wantOutputs(t, "status", "completed", "workflow-id", second.outputs["workflow-id"], "cost-usd", "0.03")
			s.wantLogged("start middle end start middle end")
			s.wantSpent("30000", "10000", "20000")

			other := job(5, input, "0.06", "key", "another")
			if input == "budget-per-key" {
				other.do(0).wantOutputs(t, "status", "completed")
			} else {
				other.do(overLimit).wantOutputs(t, "status", "over_budget", "cost-usd", "0")
			}
		})
	}
}

// TestWhatWasReachedIsAnEvent like that of any other limit.
func TestWhatWasReachedIsAnEvent(t *testing.T) {
	t.Parallel()
	s := newScene(t, threePrompts)
	e := s.talks(1, "budget-per-day", "0.02", "budget-per-key", "0.5").do(problem.ExitCodes[problem.ClassOverLimit])
	var told []state.Limit
	for _, b := range sitetest.Bodies[*state.Limit](sitetest.EventsIn(t, e.outputs["events-file"])) {
		told = append(told, *b)
	}
	if want := []state.Limit{{Which: "budget-per-day", Value: 0.02, Max: 0.02}}; !slices.Equal(told, want) {
		t.Errorf("events of limits: got %+v, want %+v", told, want)
	}
	if !strings.Contains(e.Stdout, "budget-per-day: $0 of $0.02 spent in the last 24 hours") {
		t.Errorf("log: got %s\nwant what was spent before", e.Stdout)
	}
}

// TestJobsAtOnceAreAddedUp: two that work at the same time don't see what the other one
// spends, and a later one sees both.
func TestJobsAtOnceAreAddedUp(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.NewReplacer("MIDDLE.md", "MIDDLE.sh", "log: middle\nreply:\n<goto>END.md</goto>\nend.\n",
		"echo held >>\"$EFFECTS\"; while [ ! -e \"$EFFECTS.go\" ]; do sleep 0.1; done; echo '<goto>END.md</goto>'\n").Replace(threePrompts))
	keys := []string{"one", "two"}
	var jobs []*bareJob
	var running []*sitetest.Command
	for i, key := range keys {
		j := s.talks(int64(i+1), "key", key, "budget-per-day", "0.05")
		jobs, running = append(jobs, j), append(running, j.start())
	}
	running[1].Until("the states that hold", func() bool { return strings.Count(s.done(), "held") == len(keys) })
	jobs[0].site.Write(s.effects+".go", "")
	for i, c := range running {
		if e := jobs[i].end(c); e.Code != 0 {
			t.Fatalf("job %d: got %v", i+1, e)
		}
	}
	s.wantSpent("20000", "20000")
	e := s.talks(3, "key", "three", "budget-per-day", "0.05").do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(t, "status", "over_budget", "cost-usd", "0.01")
	e.wantSays(t, "error", "budget-per-day", "$0.05 of $0.05")
}

// TestPartsShareWhatIsLeft of a budget of many runs, and each stores what it has spent; the
// step that joins them adds nothing of that.
func TestPartsShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	const costlyFan = `-- wf/START.sh --
# raymond: many_forks=true
for i in 1 2; do echo "<fork next=\"WAIT.sh\" item=\"$i\">WORK.md</fork>"; done
-- wf/WAIT.sh --
echo '<join>END.md</join>'
-- wf/WORK.md --
---
job: work
---
reply:
<goto>MORE.md</goto>
end.
-- wf/MORE.md --
---
job: work
---
reply:
<result>done</result>
end.
-- wf/END.md --
reply:
<result>all done</result>
end.
`
	overLimit := problem.ExitCodes[problem.ClassOverLimit]
	for _, c := range []struct {
		budget string
		code   int // of a part
		spent  []string
	}{
		{"0.02", overLimit, []string{"10000", "10000"}}, // a cent for each part, so that it stops after its first state
		{"0.05", 0, []string{"20000", "20000", "10000"}},
	} {
		f := &fanned{newScene(t, costlyFan), []string{"budget-per-key", c.budget, "claude-path", sitetest.Stub.Path(t)}}
		for i, part := range legs(t, f.plan(1).do(0)) {
			e := f.of(1, part).set("GITHUB_JOB", "build").do(c.code)
			if c.code == overLimit && !e.says("error", "budget-per-key: the runs of this key have spent") {
				t.Errorf("part %d: got %v, want the limit named", i, e)
			}
		}
		if c.code == 0 {
			f.joins(1).set("GITHUB_JOB", "build").do(0).wantOutputs(t, "status", "completed", "cost-usd", "0.05")
		}
		f.wantSpent(c.spent...)
	}
}

// TestPostStoresWhatWasSpent by a main part that was killed, once.
func TestPostStoresWhatWasSpent(t *testing.T) {
	t.Parallel()
	s := newScene(t, "-- wf/START.md --\nreply:\n<goto>HOLD.sh</goto>\nend.\n-- wf/HOLD.sh --\necho held >>\"$EFFECTS\"; while :; do sleep 0.1; done\n")
	j := s.talks(1)
	c := j.start()
	c.Until("the state that holds", func() bool { return s.done() == "held" })
	c.Kill()
	j.post()
	s.wantSpent("10000")
}

// TestPostStoresNothingTwice of what the main part has stored.
func TestPostStoresNothingTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, threePrompts)
	j := s.talks(1)
	j.do(0)
	j.post()
	s.wantSpent("30000")
}

// TestStepsThatSpendAlikeAreTwo: names of artifacts are unique in a workflow run.
func TestStepsThatSpendAlikeAreTwo(t *testing.T) {
	t.Parallel()
	s := newScene(t, threePrompts)
	first := s.talks(1, "key", "k")
	first.do(0)
	first.step("second").do(0)
	first.step("third").with("budget-per-key", "0.06").do(problem.ExitCodes[problem.ClassOverLimit])
	s.wantSpent("30000", "30000")
}

// TestWhatWasSpentCantBeHad: nothing is started that nobody would hold to its budget, but
// without the permission the run starts, with a warning.
func TestWhatWasSpentCantBeHad(t *testing.T) {
	t.Parallel()
	s := newScene(t, threePrompts)
	j := s.talks(1, "budget-per-key", "0.02", "resume", "never")
	j.inputs["github-token"] = "another"
	e := j.do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantSays(t, "warning", "budget-per-key", "a minimum", "actions: read")
	s.wantLogged("start middle")

	s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts?per_page", Times: 99, Status: 500})
	e = s.talks(2, "budget-per-key", "9", "resume", "never").do(problem.ExitCodes[problem.ClassStore])
	e.wantSays(t, "error", "budget-per-key", "last 24 hours can't be had")
	s.wantLogged("start middle")
}

// TestForgedSpendingsDontCount: nobody outside of the repository keeps its runs from
// starting.
func TestForgedSpendingsDontCount(t *testing.T) {
	t.Parallel()
	s := newScene(t, threePrompts)
	s.talks(1).do(0)
	own := s.spendings()[0]
	s.forge.ChangeRun(66, func(r *artifactstest.Run) {
		*r = artifactstest.Run{ID: 66, Event: "pull_request", Status: "completed", Path: ".github/workflows/agent.yml", HeadBranch: "main", HeadRepository: 99}
	})
	for _, name := range []string{
		strings.Replace(own, "-30000-1-", "-900000000-66-", 1), // by a fork
		strings.Replace(own, "-30000-1-", "-900000000-1-", 1),  // in the name of another workflow run
		strings.Replace(own, "-30000-", "--30000-", 1),
	} {
		s.forge.Put(artifactstest.Stored{Run: 66, Name: name, Created: time.Now()})
	}
	s.talks(2, "budget-per-key", "0.07").do(0).wantOutputs(t, "status", "completed")
}

// TestTokensAreOutputs: those of the whole run, as far as they are known.
func TestTokensAreOutputs(t *testing.T) {
	t.Parallel()
	s := newScene(t, "-- wf/START.md --\nask: 2\nreply:\n<result>done</result>\nend.\n")
	url, _ := costlyAPI(t)
	e := s.talks(1, "anthropic-api-key", modelKey).set("ANTHROPIC_BASE_URL", url).do(0)
	e.wantOutputs(t, "tokens-in", "600000", "tokens-out", "0", "tokens-cached", "0")
}
