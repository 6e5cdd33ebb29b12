//go:build linux

package action_test

import (
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestWorkflowsOfTheActionNeedNoFileOfTheRepository, and what a checkout has under
// their names counts for nothing, whoever's it is. A later job on another machine
// resumes them.
func TestWorkflowsOfTheActionNeedNoFileOfTheRepository(t *testing.T) {
	t.Parallel()
	const stranger = "/1_START.sh --\necho '<result>a stranger</result>'\n"
	f := sitetest.NewForge(t)
	repo := acttest.Repository(t, "-- builtin:quickstart"+stranger+"-- examples/quickstart"+stranger+"-- quickstart"+stranger)
	job := func(run int64, payload, most string) *bareJob {
		return newJob(t, f, repo, run).on("pull_request", payload).with("workflow", "builtin:quickstart", "max-iterations", most)
	}
	job(500, event(person("ann"), fromFork), "2").do(problem.ExitCodes[problem.ClassOverLimit])
	first := job(501, event(person("ann"), fromHome), "2").do(problem.ExitCodes[problem.ClassOverLimit])
	j := job(502, event(person("ann"), fromHome), "100")
	e := j.do(0)
	e.wantOutputs(t, "status", "completed", "workflow-id", first.outputs["workflow-id"])
	if shown := e.Stdout + e.Stderr + e.summary; strings.Contains(shown, j.temp) || !strings.Contains(shown, " of builtin:quickstart, ") {
		t.Errorf("got %s, want no temporary folder and the name that the input has", shown)
	}
	if got, want := e.outputs["result"], "1 + 2 + ... + 300 = 45150"; !strings.HasPrefix(got, want) {
		t.Errorf("result: got %q, want %s", got, want)
	}
}

// TestTheQuickStartHasNoPrompts, as its README.md is none: it is stored, without a report by
// default, and of a public repository nothing is missed.
func TestTheQuickStartHasNoPrompts(t *testing.T) {
	t.Parallel()
	for _, repository := range []string{inPrivate, inPublic} {
		s := newScene(t, oneScript)
		e := s.job(1, "workflow", "builtin:quickstart").on("push", "{"+repository+"}").do(0)
		e.wantOutputs(t, "status", "completed")
		if all := s.checkpoints(); len(all) == 0 || len(all) != len(s.forge.All()) {
			t.Errorf("%s: artifacts: got %q, want checkpoints alone", repository, names(s.forge.All()))
		}
		if told := e.texts("warning"); len(told) > 0 || strings.Contains(e.summary, "onversations") {
			t.Errorf("%s: got the warnings %q and the summary\n%s\nwant nothing of conversations", repository, told, e.summary)
		}
	}
}

func TestWorkflowsThatTheActionLacksAreNamed(t *testing.T) {
	t.Parallel()
	f, repo := sitetest.NewForge(t), acttest.Repository(t, oneScript)
	for i, name := range []string{"none", "../quickstart"} {
		e := newJob(t, f, repo, int64(520+i)).with("workflow", "builtin:"+name).do(problem.ExitCodes[problem.ClassUsage])
		e.wantSays(t, "error", "input workflow", `"builtin:`+name+`"`, "it has ", "quickstart")
	}
}
