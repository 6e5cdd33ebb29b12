//go:build linux

package action_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// oneScript is a repository whose workflow is one script.
const oneScript = `-- wf/START.sh --
echo "<result>done</result>"
`

// theirSecret is a value that no message may show.
const theirSecret = "sk-hush\thush-0123456789"

// badInputs has a wrong value for every input that can have one.
var badInputs = map[string]string{
	"mode": "simulat", "workflow": "w\x01f", "replies": "r\x01", "working-directory": "no\x01where", "key": strings.Repeat("k", 201),
	"meta": "a=1\nno pair", "resume": "Sometimes!", "budget": "1e3", "max-iterations": "-1", "max-parallel": "0", "max-retries": "many",
	"max-agents": "01", "max-depth": "0", "timeout": "20", "idle-timeout": "-5m", "deadline": "tomorrow", "keep-going": "yes",
	"max-attempts": "101", "model": "two words", "effort": "very much", "permission-mode": "acceptEdit",
	"dangerously-skip-permissions": "1", "claude-version": "2.1", "anthropic-api-key": theirSecret, "claude-code-oauth-token": theirSecret,
	"github-token": theirSecret, "store": "artefact", "state-dir": "s\x01", "state-key": theirSecret, "checkpoint-interval": "10ms",
	"retention-days": "1000", "workspace": "svn", "resume-without-transcript": "maybe", "allow-changed-workflow": "on",
	"resume-from": "../x.yml", "summary": "no", "annotations": "off", "suspended-is-failure": "si", "env": "A=" + theirSecret,
	"script-env": "GITHUB_OUTPUT", "allow-actors": "renovate[bot]", "allow-bots": "a b!", "allow-events": "Push", "on-denied": "ignore", "comment": "stick",
	"trust-checkout": "perhaps", "skip-lint": "ja", "allow-sudo": "y", "sandboxed": "n", "matrix-values": "os: linux",
	"overload-wait": "a while", "changed-workflow": "kept", "follows": "generation 3",
	"cage": "maybe", "network": "none, example.com", "cage-write": "a\x01b",
	"job": "1st", "prompts": "none", "part": "main!", "matrix-job": "1st", "max-jobs": "0",
	"on-overload": "wait", "hold": "a while", "continue": "again", "max-continuations": "0", "raymond-key": "k\x01", "answer-prefix": "two words",
	"agent": "claud", "prices": "no\x01where.yaml", "openai-api-key": theirSecret, "gemini-api-key": theirSecret, "codex-version": "latest", "gemini-version": "1",
	"budget-per-key": "-1", "budget-per-day": "5 dollars", "report": "always",
}

// unjudged are the inputs that take any text.
var unjudged = []string{"input", "done-when", "allowed-tools", "disallowed-tools", "claude-args", "claude-path", "agent-command", "codex-path", "gemini-path", "job-workflow-ref"}

// TestBadInputsAreToldAllAtOnce: a line and an annotation for each, before
// anything starts.
func TestBadInputsAreToldAllAtOnce(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, acttest.Repository(t, oneScript), 1)
	for name, value := range badInputs {
		j.with(name, value)
	}
	e := j.do(problem.ExitCodes[problem.ClassUsage])
	for _, in := range job.Inputs() {
		where := "usage: input " + in.Name + ": "
		lines := 0
		for line := range strings.Lines(e.Stderr) {
			if strings.HasPrefix(line, "raymond: "+where) {
				lines++
			}
		}
		want := 1
		if slices.Contains(unjudged, in.Name) {
			want = 0
		}
		said := slices.ContainsFunc(e.texts("error"), func(text string) bool { return strings.HasPrefix(text, "raymond: usage: "+where) })
		if lines != want || said != (want > 0) {
			t.Errorf("input %s: %q: got %d lines, annotated: %v, want %d and as many annotations\n%s", in.Name, j.inputs[in.Name], lines, said, want, e.Stderr)
		}
	}
	if len(e.texts("error")) != len(badInputs) || strings.Count(e.Stderr, "\n") != len(badInputs) {
		t.Errorf("got %d annotations, %d lines, want %d\n%v", len(e.texts("error")), strings.Count(e.Stderr, "\n"), len(badInputs), e)
	}
	for _, part := range []string{theirSecret, "hush-0123456789"} {
		if strings.Contains(withoutMasks(e), part) || strings.Contains(e.Stderr, part) {
			t.Errorf("the secret value %q is shown\n%v", part, e)
		}
	}
	wantNothingBegun(t, j, e)
}

// withoutMasks is the log but for the lines that hide values.
func withoutMasks(e ended) string {
	var b strings.Builder
	for line := range strings.Lines(e.Stdout) {
		if !strings.HasPrefix(line, "::add-mask::") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// wantNothingBegun checks that a step has ended before anything of it began.
func wantNothingBegun(t testing.TB, j *bareJob, e ended) {
	t.Helper()
	e.wantOutputs(t, "error-class", string(problem.ClassUsage), "status", "", "workflow-id", "")
	if files := j.stateFiles(); len(files) > 0 {
		t.Errorf("files of a state: got %q, want none\n%v", files, e)
	}
	if asked := j.forge.Questions(); len(asked) > 0 {
		t.Errorf("requests: got %q, want none\n%v", asked, e)
	}
}

// TestEachMistakeIsExplained has mistakes one by one: what the message names.
func TestEachMistakeIsExplained(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), acttest.Repository(t, oneScript)
	for name, test := range map[string]struct {
		change func(*bareJob)
		says   []string
	}{
		"an input's name with a slip": {func(j *bareJob) { j.with("max-iteration", theirSecret) }, []string{"input max-iteration:", "did you mean max-iterations?"}},
		"no workflow":                 {func(j *bareJob) { j.with("workflow", "") }, []string{"input workflow:", "is missing"}},
		"a workflow that isn't there": {func(j *bareJob) { j.with("workflow", "flows") }, []string{"input workflow:", `"flows"`, "no such file"}},
		"a folder that isn't there":   {func(j *bareJob) { j.with("working-directory", "elsewhere") }, []string{"input working-directory:", "elsewhere"}},
		"a key of the wrong kind":     {func(j *bareJob) { j.with("state-key", "age1publickeyisnot") }, []string{"input state-key:", "raymond keygen"}},
		"a payload that is no JSON":   {func(j *bareJob) { j.payload = "{" }, []string{"event payload"}},
		"an event that isn't named":   {func(j *bareJob) { j.set("GITHUB_EVENT_NAME", "") }, []string{"GITHUB_EVENT_NAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, f, repo, 1)
			test.change(j)
			e := j.do(problem.ExitCodes[problem.ClassUsage])
			if strings.Count(e.Stderr, "\n") != 1 || strings.Contains(e.Stderr+e.Stdout, theirSecret) {
				t.Errorf("got %v, want one line, and no values of unknown inputs", e)
			}
			e.wantSays(t, "error", append(test.says, "raymond: usage")...)
			wantNothingBegun(t, j, e)
		})
	}
}

// TestInputsOfACompositeActionArePassedOver by a step inside it: act and Gitea's
// runner give them to the step as well. They are warned of, without their values.
func TestInputsOfACompositeActionArePassedOver(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), acttest.Repository(t, oneScript)
	e := newJob(t, f, repo, 1).with("same", theirSecret).set("ACT", "true", "GITEA_ACTIONS", "true").do(0)
	e.wantOutputs(t, "status", "completed", "error-class", "")
	e.wantSays(t, "warning", "input same:", "composite")
	if strings.Contains(e.String(), theirSecret) {
		t.Errorf("got %v, want no values of unknown inputs", e)
	}
}

// TestAWrongWorkflowIsAnnotatedWhereItIsWrong: each problem on its file and line.
func TestAWrongWorkflowIsAnnotatedWhereItIsWrong(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	repo := acttest.Repository(t, `-- flows/wf/START.md --
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
	e.wantOutputs(t, "error-class", "workflow", "status", "")
	got := map[string]string{}
	for _, c := range e.commands {
		if c.Name == "error" {
			got[c.Properties["file"]+":"+c.Properties["line"]] = c.Data
		}
	}
	for _, place := range []string{"flows/wf/START.md:2", "flows/wf/NEXT.md:3"} {
		if !strings.HasPrefix(got[place], "workflow: ") {
			t.Errorf("annotation at %s: got %q, want one\n%v", place, got, e)
		}
	}
	if asked := f.Questions(); len(asked) > 0 {
		t.Errorf("requests: got %q, want none", asked)
	}
}

// TestLintErrorsStopAStep: before anything is started, unless skip-lint is true.
func TestLintErrorsStopAStep(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	repo := acttest.Repository(t, `-- flows/wf/START.sh --
[ -z "" ] || echo '<goto>NOPE</goto>'
echo '<result>done</result>'
`)
	e := newJob(t, f, repo, 1).with("workflow", "flows/wf").do(problem.ExitCodes[problem.ClassWorkflow])
	e.wantOutputs(t, "error-class", "workflow", "status", "", "workflow-id", "")
	e = newJob(t, f, repo, 2).with("workflow", "flows/wf").with("skip-lint", "true").do(0)
	e.wantOutputs(t, "status", "completed", "result", "done")
}
