//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// TestWorkflowsOfTheActionNeedNoFileOfTheRepository, and what a stranger's
// checkout has under their names counts for nothing.
func TestWorkflowsOfTheActionNeedNoFileOfTheRepository(t *testing.T) {
	t.Parallel()
	const stranger = "/1_START.sh --\necho '<result>a stranger</result>'\n"
	f := newForge(t)
	repo := acttest.Repository(t, "-- builtin:quickstart"+stranger+"-- examples/quickstart"+stranger+"-- quickstart"+stranger)
	for i, payload := range []string{event(person("ann"), fromHome), event(person("ann"), fromFork)} {
		j := f.job(t, repo, int64(500+i)).on("pull_request", payload).with("workflow", "builtin:quickstart")
		e := j.do(0)
		e.wantOutputs(t, "status", "completed")
		if shown := e.Stdout + e.Stderr + e.summary; strings.Contains(shown, j.temp) || !strings.Contains(shown, " of builtin:quickstart, ") {
			t.Errorf("got %s, want no temporary folder and the name that the input has", shown)
		}
		if got, want := e.outputs["result"], "1 + 2 + ... + 300 = 45150"; !strings.HasPrefix(got, want) {
			t.Errorf("result: got %q, want %s", got, want)
		}
	}
}

// TestWorkflowsOfTheActionAreTakenUp by a later job on another machine.
func TestWorkflowsOfTheActionAreTakenUp(t *testing.T) {
	t.Parallel()
	f, repo := newForge(t), acttest.Repository(t, oneScript)
	job := func(input string) *bareJob {
		return f.job(t, repo, 510).with("workflow", "builtin:quickstart", "max-iterations", input)
	}
	first := job("2").do(exitCodes[classOverLimit])
	second := job("100").do(0)
	second.wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
}

func TestWorkflowsThatTheActionLacksAreNamed(t *testing.T) {
	t.Parallel()
	f, repo := newForge(t), acttest.Repository(t, oneScript)
	for i, name := range []string{"none", "", "../quickstart", "quickstart/README.md", "."} {
		e := f.job(t, repo, int64(520+i)).with("workflow", "builtin:"+name).do(exitCodes[classUsage])
		e.wantSays(t, "error", "input workflow", `"builtin:`+name+`"`, "it has ", "quickstart")
	}
}
