//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestRerunAfterSuccessRestoresResults checks that the re-run button restores outputs, work and
// page of a completed run and starts nothing, because only a later step had failed. Another
// workflow run begins a new run.
func TestRerunAfterSuccessRestoresResults(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, strings.Replace(threeScripts, "echo middle", `echo made >made.txt; echo middle`, 1))
	first := s.job(1).do(0)
	j := s.job(1).set("GITHUB_RUN_ATTEMPT", "2")
	e := j.do(0)
	for _, name := range []string{"workflow-id", "status", "outcome", "result", "cost-usd", "iterations", "agents", "resumable", "state-artifact"} {
		assert.Check(t, is.Equal(e.Outputs[name], first.Outputs[name]), "output %s: want it as in the first attempt", name)
	}
	assert.Check(t, is.Equal(sitetest.Read(j.T, filepath.Join(j.Work, "made.txt")), "made\n"), "made.txt: want the work of the first attempt")
	events := sitetest.Read(j.T, e.Outputs["events-file"])
	assert.Check(t, is.Equal(strings.Count(events, `"run_finished"`), 1), "events")
	e.WantAnnotation(t, "notice", "was completed by attempt 1", "nothing starts")
	assert.Check(t, is.Contains(e.Summary, "MIDDLE"), "summary")
	assert.Check(t, is.Contains(e.Summary, "all done"), "summary")
	assert.Check(t, is.Equal(len(s.forge.All()), 1), "artifacts: want none but the first attempt's")
	s.wantDone("start middle end")
	s.job(2).do(0)
	s.wantDone("start middle end start middle end")
}

// TestChangedWorkflow checks that a run whose workflow has changed continues with the current
// states, unless changed-workflow says otherwise, and that the decision is reported. The run can't
// continue if its present state is gone. New meta applies from the next state on, and new input is
// ignored.
func TestChangedWorkflow(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	first := s.stops(1, 1, "input", "first", "meta", "color=red")
	unpack(t, s.repo, "-- wf/START.sh --\necho '<goto>MIDDLE.sh</goto>' # changed\n-- wf/END.sh --\necho \"<result>changed $RAYMOND_VAR_COLOR</result>\"\n")
	conflict := problem.ExitCodes[problem.ClassConflict]
	s.job(2, "changed-workflow", "refuse", "max-iterations", "9").do(conflict).WantAnnotation(t, "error", `"START.sh"`, "changed-workflow: take")
	middle, gone := filepath.Join(s.repo, "wf/MIDDLE.sh"), filepath.Join(s.repo, "wf/GONE.sh")
	assert.NilError(t, os.Rename(middle, gone))
	s.job(3, "max-iterations", "9").do(conflict).WantAnnotation(t, "error", "MIDDLE.sh", "is missing")
	assert.NilError(t, os.Rename(gone, middle))
	e := s.job(4, "max-iterations", "9", "input", "second", "meta", "color=blue").do(0)
	e.WantOutputs(t, "workflow-id", first.Outputs["workflow-id"], "result", "changed blue")
	e.WantAnnotation(t, "warning", "input is ignored", "resume: never")
	e.WantAnnotation(t, "notice", "meta has changed", "color")
	e.WantAnnotation(t, "notice", "changed-workflow: take", `"START.sh"`)
	assert.Check(t, is.Contains(strings.ReplaceAll(e.Summary, `\`, ""), "has changed since it began"), "summary: want it to say that the workflow has changed")
	s.wantDone("start middle")
}
