//go:build linux

package action_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// leavesWork is a workflow whose first script creates an uncommitted file and overwrites the second
// script, which must not run in that form.
const leavesWork = `-- wf/START.sh --
echo work >work.txt; echo 'echo "<result>injected</result>"' >wf/END.sh; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo "<result>$(cat work.txt)</result>"
`

// localJobs returns a job whose run is stored on the machine, and a later step on the same machine.
func (s *scene) localJobs(inputs ...string) (first, second *bareJob) {
	first = s.job(1, append(inputs, "key", "k", "store", "local", "state-dir", s.t.TempDir(), "workflow", filepath.Join(s.repo, "wf"))...)
	second = first.step("later")
	return first, second
}

// checkOut replaces the workspace of a job by a new checkout.
func (s *scene) checkOut(j *bareJob) {
	s.t.Helper()
	assert.NilError(s.t, os.RemoveAll(j.Work))
	assert.NilError(s.t, os.CopyFS(j.Work, os.DirFS(s.repo)))
}

// TestStoreLocalKeepsTheWork checks that a local run continues with its work in a new checkout. The
// main phase saves the work, so that later steps may change the checkout; otherwise the post phase
// saves it. Two runs in a directory have separate work. A checkout with restored work counts as one
// in which agents have worked.
func TestStoreLocalKeepsTheWork(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(j *bareJob, run string) string{
		"main part": func(j *bareJob, _ string) string { return filepath.Join(j.Work, "work.txt") },
		"post part": func(_ *bareJob, run string) string { return filepath.Join(run, "work.json") },
	} {
		s := newGitScene(t, leavesWork)
		first, second := s.localJobs()
		id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
		run := filepath.Join(first.Inputs["state-dir"], "o", "r", id)
		assert.NilError(t, os.Remove(change(first, run)))
		first.post()
		s.checkOut(second)
		second.step("other").with("key", "other", "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
		s.checkOut(second)
		e := second.with("resume", "require", "cage", "on").do(0)
		e.WantOutputs(t, "workflow-id", id, "result", "work")
		assert.Check(t, !strings.Contains(e.Stdout, "last stored") && sitetest.Exists(filepath.Join(second.Temp, "raymond", "agents.note")), "kept by the %s: got %v, want it put back as it was left, and that noted", name, e)
		kept, _ := filepath.Glob(filepath.Join(run, "workspace-*"))
		assert.Check(t, is.Len(kept, 1), "kept by the %s", name)
	}
}

// TestStoreLocalOverwritesNothing checks that the step fails if a file of the checkout is in the
// way, that neither this file nor the saved work is changed, and that the run continues without the
// work if an input allows it. A notice reports that the work is older than the run.
func TestStoreLocalOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, leavesWork)
	first, second := s.localJobs()
	id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
	s.checkOut(second)
	work := filepath.Join(first.Inputs["state-dir"], "o", "r", id, "work.json")
	kept := strings.Replace(sitetest.Read(t, work), `"seq":2`, `"seq":1`, 1)
	second.Site.Write(work, kept)
	own := filepath.Join(second.Work, "work.txt")
	second.Site.Write(own, "own\n")
	e := second.do(problem.ExitCodes[problem.ClassConflict])
	e.WantOutputs(t, "error-class", "conflict")
	e.WantAnnotation(t, "error", "work.txt", "check the repository out again", "workspace: none")
	e.WantAnnotation(t, "notice", "is at step 2, and its work was last stored at step 1")
	second.post()
	assert.Check(t, is.Equal(sitetest.Read(t, own)+sitetest.Read(t, work), "own\n"+kept), "the checkout's own file and what is kept: want them left alone")
	second.step("third").with("workspace", "none").do(0).WantOutputs(t, "result", "own")
}

// TestStoreLocalReportsMissingWork checks that a local run lacks the same contents as a checkpoint
// would, and needs resume-without-transcript to be resumed.
func TestStoreLocalReportsMissingWork(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	first, second := s.localJobs()
	e := first.set("PATH", t.TempDir()).with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantAnnotation(t, "warning", "git is not installed")
	e.WantAnnotation(t, "error", "workspace", "resume-without-transcript: true")
	second.with("resume", "require").do(problem.ExitCodes[problem.ClassDenied]).WantAnnotation(t, "error", "stored without its workspace")
	second.step("third").with("resume-without-transcript", "true").do(0).WantOutputs(t, "status", "completed", "workflow-id", e.Outputs["workflow-id"])
}

// TestBadLogDoesNotPreventSaving checks that the post phase saves the work even if it can't write
// the event log.
func TestBadLogDoesNotPreventSaving(t *testing.T) {
	t.Parallel()
	first, _ := newGitScene(t, leavesWork).localJobs()
	id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
	run := filepath.Join(first.Inputs["state-dir"], "o", "r", id)
	log := filepath.Join(run, "events.jsonl")
	assert.NilError(t, errors.Join(os.Remove(filepath.Join(run, "work.json")), os.Remove(log), os.Mkdir(log, 0o700)))
	e := first.post()
	assert.Check(t, sitetest.Exists(filepath.Join(run, "work.json")), "got %v, want the work kept", e)
}
