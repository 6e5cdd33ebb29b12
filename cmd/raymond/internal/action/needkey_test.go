//go:build linux

package action_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
)

// TestMissingKeyIsReportedFirst checks that a missing model key is reported before anything starts
// if this is certain: on a GitHub-hosted runner, in a workflow whose entry leads to a prompt.
func TestMissingKeyIsReportedFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.Replace(agentAtWork, "-- wf/START.md --\nreply:\n<goto>EDIT.sh</goto>\nend.\n", "-- wf/START.sh --\necho start >>\"$EFFECTS\"; echo '<goto>END.md</goto>'\n", 1)+
		"-- wf/ALONE.sh --\necho '<result>alone</result>'\n")
	hosted := func(run int64, inputs ...string) *bareJob {
		j := s.job(run, inputs...).set("RUNNER_ENVIRONMENT", "github-hosted")
		return j
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

// TestErrorsNameInputs checks that errors name inputs rather than arguments of the program.
func TestErrorsNameInputs(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts+"-- wf/NOTES.txt --\nx\n")
	s.job(1, "workflow", "wf/NOTES.txt").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input workflow")
	s.onIssue(3, "input-from", "issue.body").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "input input-from", "contains none of the fields issue.body")
	e := s.job(2, "args", "--max-attempts 3").do(problem.ExitCodes[problem.ClassUsage])
	e.WantAnnotation(t, "error", "input args: --max-attempts: needs done-when")
}
