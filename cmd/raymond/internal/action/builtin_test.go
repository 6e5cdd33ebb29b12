//go:build linux

package action_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestBuiltinWorkflowIgnoresTheCheckout checks that a built-in workflow needs no files of the
// repository, that files of the same name in a checkout are ignored, and that a later job on
// another machine resumes it.
func TestBuiltinWorkflowIgnoresTheCheckout(t *testing.T) {
	t.Parallel()
	const stranger = "/1_START.sh --\necho '<result>a stranger</result>'\n"
	f := sitetest.NewForge(t)
	repo := folder(t, "-- builtin:quickstart"+stranger+"-- examples/quickstart"+stranger+"-- quickstart"+stranger)
	job := func(run int64, payload, most string) *bareJob {
		return newJob(t, f, repo, run).on("pull_request", payload).with("workflow", "builtin:quickstart", "max-iterations", most)
	}
	job(500, event(person("ann"), fromFork), "2").do(problem.ExitCodes[problem.ClassOverLimit])
	first := job(501, event(person("ann"), fromHome), "2").do(problem.ExitCodes[problem.ClassOverLimit])
	j := job(502, event(person("ann"), fromHome), "100")
	e := j.do(0)
	e.WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"])
	if shown := e.Stdout + e.Stderr + e.Summary; strings.Contains(shown, j.Temp) || !strings.Contains(shown, " of builtin:quickstart, ") {
		t.Errorf("got %s, want no temporary folder and the name that the input has", shown)
	}
	got, want := e.Outputs["result"], "1 + 2 + ... + 300 = 45150"
	assert.Check(t, strings.HasPrefix(got, want), "result: got %q, want %s", got, want)
}
