//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// shipping makes a folder of the action with one workflow of its own.
func (j *bareJob) shipping(place, script string) *bareJob {
	j.t.Helper()
	dir := filepath.Join(j.root, place)
	j.site.write(filepath.Join(dir, "examples", "hello", "1_START.sh"), script)
	j.site.write(filepath.Join(dir, "examples", "README.md"), "no workflow")
	return j.set(actionDirVar, dir).with("workflow", "builtin:hello")
}

// TestWorkflowsOfTheActionNeedNoFileOfTheRepository, and what a stranger's
// checkout has under their names counts for nothing.
func TestWorkflowsOfTheActionNeedNoFileOfTheRepository(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	repo := acttest.Repository(t, "-- builtin:hello/1_START.sh --\necho '<result>a stranger</result>'\n"+
		"-- examples/hello/1_START.sh --\necho '<result>a stranger</result>'\n")
	for i, payload := range []string{event(person("ann"), fromHome), event(person("ann"), fromFork)} {
		j := f.job(t, repo, int64(500+i)).on("pull_request", payload).shipping("action", "echo '<result>the action</result>'")
		j.do(0).wantOutputs(t, "result", "the action", "status", "completed")
	}
}

// TestWorkflowsOfTheActionAreTakenUpWhereverItLies: another machine has the
// action in another folder.
func TestWorkflowsOfTheActionAreTakenUpWhereverItLies(t *testing.T) {
	t.Parallel()
	f, repo := newForge(t), acttest.Repository(t, oneScript)
	const script = "if [ -e \"$FLAG\" ]; then echo '<result>taken up</result>'; exit; fi; touch \"$FLAG\"; exit 1"
	flag := filepath.Join(t.TempDir(), "flag")
	job := func(place string) *bareJob {
		return f.job(t, repo, 510).shipping(place, script).set("FLAG", flag).with("script-env", "FLAG", "max-retries", "0")
	}
	first := job("_actions/v1").do(exitCodes[classRunFailed])
	second := job("_actions/v1.2.3").with("resume", first.outputs["workflow-id"]).do(0)
	second.wantOutputs(t, "result", "taken up", "workflow-id", first.outputs["workflow-id"])
}

func TestWorkflowsThatTheActionLacksAreNamed(t *testing.T) {
	t.Parallel()
	f, repo := newForge(t), acttest.Repository(t, oneScript)
	for i, name := range []string{"none", "", "../examples/hello", "README.md", "."} {
		j := f.job(t, repo, int64(520+i)).shipping("action", "").with("workflow", "builtin:"+name)
		e := j.do(exitCodes[classUsage])
		e.wantSays(t, "error", "input workflow", `"builtin:`+name+`"`, "it has hello")
	}
	e := f.job(t, repo, 530).with("workflow", "builtin:hello").do(exitCodes[classUsage])
	e.wantSays(t, "error", "input workflow", "only the Action")
}
