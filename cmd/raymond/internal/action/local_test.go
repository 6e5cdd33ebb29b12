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

// leavesWork leaves a file that is not committed for its second state, and another second state, which is not run.
const leavesWork = `-- wf/START.sh --
echo work >work.txt; echo 'echo "<result>injected</result>"' >wf/END.sh; echo '<goto>END.sh</goto>'
-- wf/END.sh --
echo "<result>$(cat work.txt)</result>"
`

// localJobs are a job whose run is kept on the machine, and one later that has checked the repository out afresh
// in its place.
func (s *scene) localJobs(inputs ...string) (first, second *bareJob) {
	first = s.job(1, append(inputs, "key", "k", "store", "local", "state-dir", s.t.TempDir(), "workflow", filepath.Join(s.repo, "wf"))...)
	second = first.step("later")
	return first, second
}

// checkOut checks the repository out afresh.
func (s *scene) checkOut(j *bareJob) {
	s.t.Helper()
	assert.NilError(s.t, os.RemoveAll(j.Work))
	assert.NilError(s.t, os.CopyFS(j.Work, os.DirFS(s.repo)))
}

// TestStoreLocalKeepsTheWork: the run goes on with it in a fresh checkout. What the main part has kept counts, whatever
// later steps do to the checkout, and else what its post part finds. Of two runs in a folder each has its own. From then on
// the checkout counts as one in which agents have been.
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

// TestStoreLocalOverwritesNothing: where a checkout has something of its own in the way, the step ends, neither that nor what
// is kept is changed, and the run goes on without it where that is wanted. Work that is older than the run is said to be.
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
	e.WantSays(t, "error", "work.txt", "check the repository out afresh", "workspace: none")
	e.WantSays(t, "notice", "is at step 2, and its work was last stored at step 1")
	second.post()
	assert.Check(t, is.Equal(sitetest.Read(t, own)+sitetest.Read(t, work), "own\n"+kept), "the checkout's own file and what is kept: want them left alone")
	second.step("third").with("workspace", "none").do(0).WantOutputs(t, "result", "own")
}

// TestStoreLocalSaysWhatItLacks: what a checkpoint would leave out is not kept here either, and the run is resumed where
// that is wanted.
func TestStoreLocalSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	first, second := s.localJobs()
	e := first.set("PATH", t.TempDir()).with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	e.WantSays(t, "warning", "git is not installed")
	e.WantSays(t, "error", "workspace", "resume-without-transcript: true")
	second.with("resume", "require").do(problem.ExitCodes[problem.ClassDenied]).WantSays(t, "error", "stored without its workspace")
	second.step("third").with("resume-without-transcript", "true").do(0).WantOutputs(t, "status", "completed", "workflow-id", e.Outputs["workflow-id"])
}

// TestABadLogKeepsNoWork from being kept by the post part.
func TestABadLogKeepsNoWork(t *testing.T) {
	t.Parallel()
	first, _ := newGitScene(t, leavesWork).localJobs()
	id := first.with("max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit]).Outputs["workflow-id"]
	run := filepath.Join(first.Inputs["state-dir"], "o", "r", id)
	log := filepath.Join(run, "events.jsonl")
	assert.NilError(t, errors.Join(os.Remove(filepath.Join(run, "work.json")), os.Remove(log), os.Mkdir(log, 0o700)))
	e := first.post()
	assert.Check(t, sitetest.Exists(filepath.Join(run, "work.json")), "got %v, want the work kept", e)
}
