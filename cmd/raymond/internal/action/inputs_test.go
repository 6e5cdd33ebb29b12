//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// oneScript is a repository whose workflow is one script.
const oneScript = `-- wf/START.sh --
echo "<result>done</result>"
`

// theirSecret is a value that no message may show.
const theirSecret = "sk-hush\thush-0123456789"

// TestAllBadInputsAreReported checks that each bad input gets a line and an annotation, before
// anything starts.
func TestAllBadInputsAreReported(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, folder(t, oneScript), 1)
	bad := map[string]string{ // settings, flags, paths, the cage and secrets
		"mode": "simulat", "resume": "Sometimes!", "budget": "1e3", "meta": "a=1\nno pair", "args": "--max-attempts 101", "working-directory": "no\x01where",
		"api-tools": "web-search!", "cage": "maybe", "network": "none, example.com", "follows": "generation 3", "prices": "no\x01where.yaml", "matrix-values": "os: linux",
		"max-iteration": theirSecret, "anthropic-api-key": theirSecret, "state-key": theirSecret, "env": "A=" + theirSecret,
	}
	for name, value := range bad {
		j.with(name, value)
	}
	e := j.do(problem.ExitCodes[problem.ClassUsage])
	for name := range bad {
		if where := "usage: input " + name + ": "; strings.Count(e.Stderr, "raymond: "+where) != 1 || !e.HasAnnotation("error", where) {
			t.Errorf("input %s: want one line and one annotation\n%v", name, e)
		}
	}
	assert.Check(t, is.Len(e.Annotations("error"), len(bad)))
	assert.Check(t, is.Equal(strings.Count(e.Stderr, "\n"), len(bad)))
	for _, part := range []string{theirSecret, "hush-0123456789"} {
		assert.Check(t, !strings.Contains(e.Unmasked(), part), "the secret value %q is shown\n%v", part, e)
		assert.Check(t, !strings.Contains(e.Stderr, part), "the secret value %q is shown\n%v", part, e)
	}
	wantNothingBegun(t, j, e)
}

// wantNothingBegun checks that a step has ended without having started anything.
func wantNothingBegun(t testing.TB, j *bareJob, e ended) {
	t.Helper()
	e.WantOutputs(t, "error-class", string(problem.ClassUsage), "status", "", "workflow-id", "")
	assert.Check(t, is.Len(j.stateFiles(), 0), "files of a state:\n%v", e)
	assert.Check(t, is.Len(j.Forge.AllRequests(), 0), "requests:\n%v", e)
}

// TestArgsReachTheRun checks that flags in the input args have an effect: on the options of the run, on
// its history, and on the log.
func TestArgsReachTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, oneScript)
	e := s.job(1, "args", "--history=0 --verbose\n--grace '10s' --max-reminders=1").do(0)
	stored := s.newest()
	assert.Check(t, is.Equal(stored.Run.Options.MaxReminders, 1))
	assert.Check(t, is.Equal(stored.Run.Options.Grace, state.Duration(10*time.Second)))
	assert.Check(t, is.Equal(sitetest.Read(t, filepath.Join(stored.Dir, checkpoint.HistoryName)), ""), "history")
	assert.Check(t, is.Contains(strings.Join(e.Lines, "\n"), "stored"), "log")
}

// TestEachMistakeIsExplained checks the message for each of several mistakes.
func TestEachMistakeIsExplained(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), folder(t, oneScript)
	for name, test := range map[string]struct {
		change func(*bareJob)
		says   []string
	}{
		"a workflow that isn't there": {func(j *bareJob) { j.with("workflow", "flows") }, []string{"input workflow:", `"flows"`, "no such file"}},
		"no such workflow here":       {func(j *bareJob) { j.with("workflow", "builtin:../x") }, []string{"input workflow:", `"builtin:../x"`, "it has ", "quickstart"}},
		"a payload that is no JSON":   {func(j *bareJob) { j.Payload = "{" }, []string{"event payload"}},
		"a reusable workflow":         {func(j *bareJob) { j.with("job-workflow-ref", "o/r/.github/workflows/called.yml@refs/heads/main") }, []string{"input key", "reusable workflow"}},
		"an event that isn't named":   {func(j *bareJob) { j.set("GITHUB_EVENT_NAME", "") }, []string{"GITHUB_EVENT_NAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, f, repo, 1)
			test.change(j)
			e := j.do(problem.ExitCodes[problem.ClassUsage])
			e.WantAnnotation(t, "error", append(test.says, "raymond: usage")...)
			wantNothingBegun(t, j, e)
		})
	}
}

// TestInputsOfCompositeActionsAreIgnored checks that unknown inputs cause only a warning, without
// their values, under act and Gitea's runner: these pass the inputs of a composite action to the
// steps inside it.
func TestInputsOfCompositeActionsAreIgnored(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), folder(t, oneScript)
	e := newJob(t, f, repo, 1).with("same", theirSecret).set("ACT", "true", "GITEA_ACTIONS", "true").do(0)
	e.WantOutputs(t, "status", "completed", "error-class", "")
	e.WantAnnotation(t, "warning", "input same:", "composite")
	assert.Check(t, !strings.Contains(e.String(), theirSecret), "got %v, want no values of unknown inputs", e)
}

// TestWorkflowProblemsAreAnnotated checks that each problem of a workflow has an annotation on its
// file and line.
func TestWorkflowProblemsAreAnnotated(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	repo := folder(t, `-- flows/wf/START.md --
---
model: [one, two]
---
Say <goto>NEXT.md</goto>.
-- flows/wf/NEXT.md --
---
allowed_transitions:
  - tag: gotoo
    target: START.md
---
Say <goto>GONE.md</goto>.
`)
	j := newJob(t, f, repo, 1).with("workflow", "flows/wf")
	e := j.do(problem.ExitCodes[problem.ClassWorkflow])
	e.WantOutputs(t, "error-class", "workflow", "status", "")
	got := map[string]string{}
	for _, c := range e.Commands {
		if c.Name == "error" {
			got[c.Properties["file"]+":"+c.Properties["line"]] = c.Data
		}
	}
	for _, place := range []string{"flows/wf/START.md:2", "flows/wf/NEXT.md:3"} {
		assert.Check(t, strings.HasPrefix(got[place], "workflow: "), "annotation at %s: got %q, want one\n%v", place, got, e)
	}
	assert.Check(t, is.Len(f.AllRequests(), 0), "requests")
}

// TestSudoExcludesACage checks that allow-sudo can't be combined with inputs that need a cage,
// because agents with more privileges can leave it.
func TestSudoExcludesACage(t *testing.T) {
	t.Parallel()
	repo := folder(t, oneScript)
	for input, value := range map[string]string{"cage": "require", "network": "github"} {
		e := newJob(t, nil, repo, 1).with("cage", "on", "allow-sudo", "true", input, value).do(problem.ExitCodes[problem.ClassUsage])
		e.WantAnnotation(t, "error", "input "+input, "allow-sudo")
	}
	e := newJob(t, sitetest.NewForge(t), repo, 1).with("cage", "on", "allow-sudo", "true").do(0)
	assert.Check(t, is.Len(e.Annotations("warning"), 1))
}
