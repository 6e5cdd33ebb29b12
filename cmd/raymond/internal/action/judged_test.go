//go:build linux

package action_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
)

// TestPublicRepositoryStoresNoConversations checks that conversations and workspace are not stored
// in a public repository without a state-key, that the step reports this, and that another machine
// continues with a new conversation only if an input allows it.
func TestPublicRepositoryStoresNoConversations(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, agentAtWork)
	first := s.public(1, "max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	first.WantOutputs(t, "status", "over_iterations", "resumable", "false")
	first.WantAnnotation(t, "error", "This run can't be resumed", "transcripts and workspace", "resume-without-transcript: true", "state-key")
	last := s.newest()
	assert.Check(t, is.Equal(fmt.Sprint(last.Manifest.Omissions), "[{transcripts true key} {workspace true key}]"), "left out: want both, which held something")
	for _, name := range []string{"transcripts", "workspace"} {
		assert.Check(t, !sitetest.Exists(filepath.Join(last.Dir, name)), "checkpoint: got the folder %s, want none", name)
	}
	for _, resume := range []string{"require", first.Outputs["workflow-id"]} {
		e := s.public(2, "max-iterations", "9", "resume", resume).do(problem.ExitCodes[problem.ClassDenied])
		e.WantOutputs(t, "error-class", "denied", "status", "")
		e.WantAnnotation(t, "error", "state-key", "resume-without-transcript: true", "transcripts and workspace")
	}
	third := s.public(3, "max-iterations", "9", "resume-without-transcript", "true")
	third.do(0).WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"])
	assert.Assert(t, is.Len(third.prompts, 1))
	assert.Check(t, is.Equal(third.prompts[0].Session, state.Fresh), "want a new conversation")
}

// TestRunInProgressIsNotResumed checks that a workflow run refuses to resume a run that another
// workflow run drives, and names the other.
func TestRunInProgressIsNotResumed(t *testing.T) {
	t.Parallel()
	s := newScene(t, heldScripts)
	j := s.job(1).often()
	c := j.start()
	c.Until("a checkpoint of a run under way", func() bool { return len(s.checkpoints()) == 1 })
	e := s.job(2).do(problem.ExitCodes[problem.ClassConflict])
	e.WantAnnotation(t, "error", s.forge.URL+"/runs/1", "in_progress", `job "build"`)
	s.letGo()
	j.end(c).WantOutputs(t, "status", "completed")
	s.wantDone("start held")
}

// TestEditedStatesAreNotRun checks that edits of state files by agents or scripts are restored with
// other work, but that the states of the checkout run.
func TestEditedStatesAreNotRun(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, strings.Replace(threeScripts, "echo start", `echo 'echo injected >>"$EFFECTS"; echo "<result>injected</result>"' >wf/MIDDLE.sh; cat wf/MIDDLE.sh >wf/END.sh; echo start`, 1))
	first := s.stops(1, 1)
	j := s.job(2, "max-iterations", "9")
	j.do(0).WantOutputs(t, "workflow-id", first.Outputs["workflow-id"], "result", "all done")
	s.wantDone("start middle end")
	assert.Check(t, is.Contains(sitetest.Read(j.T, filepath.Join(j.Work, "wf", "MIDDLE.sh")), "injected"), "wf/MIDDLE.sh in the workspace: want the work of the run before")
}

// TestStoreLocal checks that store: local stores runs in a directory of the machine, separately for
// each repository, and sends no requests.
func TestStoreLocal(t *testing.T) {
	t.Parallel()
	s := newScene(t, threeScripts)
	dir := t.TempDir()
	local := func(run int64, inputs ...string) *bareJob {
		return s.job(run, append(inputs, "store", "local", "state-dir", dir)...)
	}
	first := local(1, "max-iterations", "1").do(problem.ExitCodes[problem.ClassOverLimit])
	e := local(3, "max-iterations", "9").do(0)
	e.WantOutputs(t, "status", "completed", "workflow-id", first.Outputs["workflow-id"], "state-artifact", "")
	s.wantDone("start middle end")
	assert.Check(t, is.Len(s.forge.AllRequests(), 0), "requests")
	assert.Check(t, sitetest.Exists(filepath.Join(dir, "o", "r", first.Outputs["workflow-id"]+".json")), "no state in the folder")
	local(4, "key", "another", "resume", "require").do(problem.ExitCodes[problem.ClassUsage])
	local(5, "resume", "require").set("GITHUB_REPOSITORY", "o/other").on("workflow_dispatch", "{}").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "no run of this key was found")
}
