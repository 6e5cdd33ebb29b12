//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// threePrompts is a workflow of three prompts. Each costs a cent.
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

// wantLogged checks which prompts have run.
func (s *scene) wantLogged(want string) {
	s.t.Helper()
	var got []string
	for _, m := range regexp.MustCompile(`"text":"(\w+)"`).FindAllStringSubmatch(s.done(), -1) {
		got = append(got, m[1])
	}
	assert.Check(s.t, is.Equal(strings.Join(got, " "), want), "prompts that ran: got %q, want %q", got, want)
}

// wantSpent checks the amounts that jobs have stored as spending, in micro-dollars.
func (s *scene) wantSpent(micro ...string) {
	s.t.Helper()
	var got []string
	for _, name := range names(s.stored("raymond-spent-")) {
		m := regexp.MustCompile(`^raymond-spent-[0-9a-f]{12}-[0-9a-f]{12}-([0-9]+)-[0-9]+-1-build(~[0-9a-f]+)?$`).FindStringSubmatch(name)
		assert.Assert(s.t, m != nil, "got the name %q", name)
		got = append(got, m[1])
	}
	assert.Check(s.t, is.DeepEqual(got, micro), "stored as spent")
}

// TestBudgetsAcrossRuns checks the budgets for several runs, of a key and of the workflow file. If
// the limit is reached, the error names it and nothing starts. The run continues with a larger
// limit.
func TestBudgetsAcrossRuns(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"github": "budget-per-key", "gitea": "budget-per-day"} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			s := newForgeScene(t, threePrompts)
			job := func(run int64, inputs ...string) *bareJob {
				j := s.job(run, inputs...)
				if name == "gitea" {
					s.forge.AsGitea()
					asGitea(j)
				}
				return j
			}
			first := job(1).do(0)
			first.WantOutputs(t, "status", "completed", "cost-usd", "0.03", "tokens-in", "300", "tokens-out", "30", "tokens-cached", "300")
			s.wantSpent("30000")

			overLimit := problem.ExitCodes[problem.ClassOverLimit]
			second := job(2, input, "0.04").do(overLimit)
			second.WantOutputs(t, "status", "over_budget", "error-class", "over_limit", "cost-usd", "0.01", "resumable", "true")
			second.WantAnnotation(t, "error", input, "$0.04 of $0.04 in 24 hours")
			assert.Check(t, is.Contains(second.Summary, "Raise `"+input+"` above `$0.04`"), "summary: want what can be done")
			s.wantLogged("start middle end start")
			s.wantSpent("30000", "10000")

			job(4, input, "0.06").do(0).WantOutputs(t, "status", "completed", "workflow-id", second.Outputs["workflow-id"], "cost-usd", "0.03")
			s.wantLogged("start middle end start middle end")
			s.wantSpent("30000", "10000", "20000")

			other := job(5, input, "0.06", "key", "another")
			if input == "budget-per-key" {
				other.do(0).WantOutputs(t, "status", "completed")
			} else {
				other.do(overLimit).WantOutputs(t, "status", "over_budget", "cost-usd", "0")
			}
		})
	}
}

// TestPostStoresMeteredSpending checks that the post phase stores, once, the metered cost of an
// invocation that was under way when the main phase was killed, and that the run includes it. If
// the record was altered, the whole budget is stored.
func TestPostStoresMeteredSpending(t *testing.T) {
	t.Parallel()
	for _, isAltered := range []bool{false, true} {
		s := newForgeScene(t, "-- wf/START.md --\nreply:\n<goto>METER.md</goto>\nend.\n-- wf/METER.md --\nmeter: claude-opus-5\nreply:\n<result>done</result>\nend.\n")
		j := s.job(1, "budget", "7")
		c := j.start()
		journal := func() string {
			list, _ := filepath.Glob(filepath.Join(j.StepDir(), "*.journal"))
			return strings.Join(list, "")
		}
		c.Until("what was metered", func() bool {
			data, _ := os.ReadFile(journal())
			return strings.Contains(string(data), `"metered"`)
		})
		c.Kill()
		if isAltered {
			j.Site.Write(journal(), "")
			e := j.end(j.command("action-post"))
			e.WantAnnotation(t, "warning", "the spending of this step is unknown", "budget-per-key")
			s.wantSpent("7000000")
			continue
		}
		j.post()
		s.wantSpent("5010000")
		s.letGo()
		s.job(2, "budget", "7").do(0).WantOutputs(t, "status", "completed", "cost-usd", "5.02")
		s.wantSpent("5010000", "10000")
	}
}

// TestUnknownSpending checks that no run starts if a service can't return the earlier spending,
// because its budget could not be enforced. Without the permission, a run starts with a warning.
func TestUnknownSpending(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, threePrompts)
	j := s.job(1, "budget-per-key", "0.02", "resume", "never")
	j.Inputs["github-token"] = "another"
	e := j.do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantAnnotation(t, "warning", "budget-per-key", "a minimum", "actions: read")
	s.wantLogged("start middle")

	s.forge.Fail(artifactstest.Fault{Op: "actions/artifacts?per_page", Times: 99, Status: 500})
	e = s.job(2, "budget-per-key", "9", "resume", "never").do(problem.ExitCodes[problem.ClassStore])
	e.WantAnnotation(t, "error", "budget-per-key", "could not read the spending of the last 24 hours")
	s.wantLogged("start middle")
}
