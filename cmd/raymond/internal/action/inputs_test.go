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
	j := newScene(t, oneScript).job(1)
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
	stored := s.newest("agent-build.ref-main")
	assert.Check(t, is.Equal(stored.Run.Options.MaxReminders, 1))
	assert.Check(t, is.Equal(stored.Run.Options.Grace, state.Duration(10*time.Second)))
	assert.Check(t, is.Equal(sitetest.Read(t, filepath.Join(stored.Dir, checkpoint.HistoryName)), ""), "history")
	assert.Check(t, is.Contains(strings.Join(e.Lines, "\n"), "stored"), "log")
}

// TestInputsOfCompositeActionsAreIgnored checks that unknown inputs cause only a warning, without
// their values, under act and Gitea's runner: these pass the inputs of a composite action to the
// steps inside it.
func TestInputsOfCompositeActionsAreIgnored(t *testing.T) {
	t.Parallel()
	e := newScene(t, oneScript).job(1, "same", theirSecret).set("ACT", "true", "GITEA_ACTIONS", "true").do(0)
	e.WantOutputs(t, "status", "completed", "error-class", "")
	e.WantAnnotation(t, "warning", "input same:", "composite")
	assert.Check(t, !strings.Contains(e.String(), theirSecret), "got %v, want no values of unknown inputs", e)
}

// TestWorkflowProblemsAreAnnotated checks that each problem of a workflow has an annotation on its
// file and line.
func TestWorkflowProblemsAreAnnotated(t *testing.T) {
	t.Parallel()
	s := newScene(t, `-- flows/wf/START.md --
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
	e := s.job(1, "workflow", "flows/wf").do(problem.ExitCodes[problem.ClassWorkflow])
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
	assert.Check(t, is.Len(s.forge.AllRequests(), 0), "requests")
}

// TestSudoExcludesACage checks that allow-sudo can't be combined with inputs that need a cage,
// because agents with more privileges can leave it.
func TestSudoExcludesACage(t *testing.T) {
	t.Parallel()
	s := newScene(t, oneScript)
	for input, value := range map[string]string{"cage": "require", "network": "github"} {
		e := s.job(1, "cage", "on", "allow-sudo", "true", input, value).do(problem.ExitCodes[problem.ClassUsage])
		e.WantAnnotation(t, "error", "input "+input, "allow-sudo")
	}
	e := s.job(2, "cage", "on", "allow-sudo", "true").do(0)
	assert.Check(t, is.Len(e.Annotations("warning"), 1))
}

// TestMissingKeyIsReportedFirst checks that a missing model key is reported before anything starts
// if this is certain: on a GitHub-hosted runner, in a workflow whose entry leads to a prompt.
func TestMissingKeyIsReportedFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(agentAtWork, "-- wf/START.md --\nreply:\n<goto>EDIT.sh</goto>\nend.\n", "-- wf/START.sh --\necho start >>\"$EFFECTS\"; echo '<goto>END.md</goto>'\n", 1)+
		"-- wf/ALONE.sh --\necho '<result>alone</result>'\n")
	hosted := func(run int64, inputs ...string) *bareJob {
		return s.job(run, inputs...).set("RUNNER_ENVIRONMENT", "github-hosted")
	}
	e := hosted(1).do(problem.ExitCodes[problem.ClassUsage])
	e.WantOutputs(t, "error-class", "usage", "status", "")
	e.WantAnnotation(t, "error", "anthropic-api-key", "claude-code-oauth-token")
	s.wantDone("")
	loggedIn := hosted(6)
	loggedIn.Site.Write(filepath.Join(loggedIn.Env["HOME"], ".claude", ".credentials.json"), "{}")
	for name, j := range map[string]*bareJob{
		"with a key":                   hosted(2, "anthropic-api-key", "sk-ant-0123456789"),
		"with Bedrock":                 hosted(4).set("CLAUDE_CODE_USE_BEDROCK", "1"),
		"logged in by a step before":   loggedIn,
		"on a runner of one's own":     hosted(7).set("RUNNER_ENVIRONMENT", "self-hosted"),
		"to which no entry leads":      hosted(8, "workflow", "wf/ALONE.sh", "key", "alone"),
		"where nothing is carried out": hosted(9, "mode", "lint"),
	} {
		e := j.end(j.start())
		assert.Check(t, !strings.Contains(e.String(), "both are empty"), "%s: got %v, want no key missed", name, e)
	}
}

// TestEachAgentNeedsItsOwnKey checks that the key of one vendor doesn't serve another, and that no
// run begins with a budget if the cost of its agent is unknown.
func TestEachAgentNeedsItsOwnKey(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(agentAtWork, "-- wf/START.md --\n", "-- wf/OTHER.md --\n---\nagent: codex\n---\nreply:\n<result>done</result>\nend.\n-- wf/START.md --\n", 1))
	for inputs, want := range map[string]string{
		"workflow wf/OTHER.md":                                "input openai-api-key: is empty, and the agent codex runs prompts",
		"agent codex anthropic-api-key sk-ant-0123456789":     "input openai-api-key: is empty",
		"agent gemini openai-api-key sk-0123456789":           "input gemini-api-key: is empty",
		"agent codex model mine openai-api-key sk-0123456789": "input budget: the agent codex reports tokens rather than cost",
		"openai-api-key sk-0123456789":                        "anthropic-api-key and claude-code-oauth-token",
	} {
		j := s.job(1, append(strings.Fields(inputs), "key", strings.ReplaceAll(inputs, " ", "-"))...).set("RUNNER_ENVIRONMENT", "github-hosted")
		j.do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", want)
	}
	s.wantDone("")
}

// TestErrorsNameInputs checks that errors name inputs rather than arguments of the program, and that
// nothing starts after them.
func TestErrorsNameInputs(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts+"-- wf/NOTES.txt --\nx\n")
	s.job(1, "workflow", "flows").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "raymond: usage", "input workflow:", `"flows"`, "no such file")
	s.job(1, "workflow", "builtin:../x").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input workflow:", `"builtin:../x"`, "it has ", "quickstart")
	called := s.job(1, "job-workflow-ref", "o/r/.github/workflows/called.yml@refs/heads/main")
	called.do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input key", "reusable workflow")
	s.job(1, "workflow", "wf/NOTES.txt").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input workflow")
	s.onIssue(3, "input-from", "issue.body").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input input-from", "contains none of the fields issue.body")
	e := s.job(2, "args", "--max-attempts 3").do(problem.ExitCodes[problem.ClassUsage])
	e.WantAnnotation(t, "error", "input args: --max-attempts: needs done-when")
	s.wantDone("")
}

// TestOtherModesStartNoAgent checks that lint, diagram and simulate run the commands of these
// names, and store nothing.
func TestOtherModesStartNoAgent(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, threeScripts+"-- replies.yaml --\nstates: {}\n")
	for _, test := range []struct{ inputs, args []string }{
		{[]string{"mode", "lint", "agent", "codex"}, []string{"lint", "wf", "--format=github", "--agent=codex"}},
		{[]string{"mode", "diagram"}, []string{"diagram", "wf"}},
		{[]string{"mode", "simulate", "replies", "replies.yaml", "budget", "1"}, []string{"simulate", "wf", "--replies=replies.yaml", "--budget=1"}},
	} {
		j := s.job(1, test.inputs...)
		j.do(0).WantOutputs(t, "error-class", "", "workflow-id", "")
		assert.Assert(t, is.Len(j.tools, 1), "%q", test.inputs)
		assert.Assert(t, is.DeepEqual(j.tools[0].Args, test.args), "%q", test.inputs)
		env := strings.Join(j.tools[0].Environ, " ")
		if !strings.Contains(env, "PATH=") || strings.Contains(env, "INPUT_") || strings.Contains(env, "TOKEN") {
			t.Errorf("%q: environment: got %q, want that of scripts", test.inputs, env)
		}
	}
	assert.Check(t, is.Len(s.forge.All(), 0), "artifacts")
	s.wantDone("")
}
