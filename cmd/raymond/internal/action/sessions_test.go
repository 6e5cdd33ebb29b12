//go:build linux

package action_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// conversations returns the session files of agent CLIs in the job's home directory, and in the
// directories of its steps and runs.
func (j *bareJob) conversations() []string {
	j.T.Helper()
	var all []string
	for _, folder := range []string{filepath.Join(j.Env["HOME"], ".claude"), filepath.Join(j.Temp, "raymond", "*", "*", "clis", "claude"), filepath.Join(j.Inputs["state-dir"], "*", "*", "*", "clis", "claude")} {
		found, err := filepath.Glob(filepath.Join(folder, "projects", "*", "*.jsonl"))
		assert.NilError(j.T, err)
		all = append(all, found...)
	}
	return all
}

// machine makes the job run on the machine of another job, with the same HOME.
func (j *bareJob) machine(other *bareJob) *bareJob { return j.set("HOME", other.Env["HOME"]) }

// post runs the post phase of a step, which must succeed.
func (j *bareJob) post() stepEnd {
	j.T.Helper()
	e := j.end(j.command("action-post"))
	assert.Check(j.T, is.Equal(e.Code, 0), "post part: got %v, want success", e)
	return e
}

const strangers = "11111111-2222-4333-8444-555555555555"

// TestPostRemovesConversations checks that the post phase removes stored and unneeded
// conversations, with the directories beside them: of a run that is resumed later, and of a run
// that was resumed from a checkpoint. Conversations of other programs stay.
func TestPostRemovesConversations(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	first := s.job(1, "max-iterations", "1")
	theirs := filepath.Join(first.Env["HOME"], ".claude", "projects", "stub", strangers+".jsonl")
	first.Site.Write(theirs, "theirs\n")
	first.do(problem.ExitCodes[problem.ClassOverLimit])
	own := slices.DeleteFunc(first.conversations(), func(path string) bool { return path == theirs })
	assert.Equal(t, len(own), 1, "conversations after the main part: got %v, want one besides %s", own, theirs)
	beside := strings.TrimSuffix(own[0], ".jsonl")
	first.Site.Write(filepath.Join(beside, "subagents", "x.jsonl"), "x")
	first.post()
	if got := first.conversations(); !slices.Equal(got, []string{theirs}) || sitetest.Exists(beside) {
		t.Errorf("conversations after the post part: got %v, folder beside %v; want %s alone", got, sitetest.Exists(beside), theirs)
	}

	second := s.job(2, "max-iterations", "9").machine(first)
	second.do(0).WantOutputs(t, "status", "completed", "result", "all done")
	got := second.conversations()
	assert.Assert(t, is.Len(got, 2), "conversations of the run that is resumed: got %v, want its own and %s", got, theirs)
	second.post()
	assert.Check(t, is.DeepEqual(second.conversations(), []string{theirs}), "after the post part of the run that went on: want %s", theirs)
}

// TestUnstoredRunStays checks that a step fails if the end of the run can't be stored, and that its
// state and conversations, of which no other copy exists, stay on the machine.
func TestUnstoredRunStays(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	s.memory.Fail(errors.New("unavailable"))
	j := s.job(1, "max-iterations", "1")
	e := j.do(problem.ExitCodes[problem.ClassStore])
	e.WantOutputs(t, "error-class", "store", "resumable", "false", "state-artifact", "")
	e.WantAnnotation(t, "error", "last checkpoint", "state stays")
	before := j.conversations()
	assert.Assert(t, is.Len(before, 1), "conversations")
	j.end(j.command("action-post"))
	assert.Check(t, is.DeepEqual(j.conversations(), before), "conversations after the post phase")
}

// TestCagedConversationsAreRestored checks that conversations of caged agents are in a directory of
// the step, or of the local run, rather than in the home directory. They are restored when the run
// continues, even if it had no cage before, and a rerun has copies of them.
func TestCagedConversationsAreRestored(t *testing.T) {
	t.Parallel()
	for name, inputs := range map[string][]string{"artifact": nil, "local": {"store", "local", "state-dir", t.TempDir()}, "local, without a cage before": {"store", "local", "state-dir", t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, agentAtWork)
			first := s.job(1, "max-iterations", "1").with(inputs...)
			home := filepath.Join(first.Env["HOME"], ".claude")
			isOff := strings.HasSuffix(name, "before")
			if !isOff {
				first.with("cage", "on")
			}
			begun := first.do(problem.ExitCodes[problem.ClassOverLimit])
			id := begun.Outputs["workflow-id"]
			if got := first.conversations(); len(got) != 1 || strings.HasPrefix(got[0], home) != isOff {
				t.Fatalf("conversations: got %q, want one, below %s: %v", got, home, isOff)
			}
			first.post()
			second := s.job(2, "cage", "on", "max-iterations", "9").with(inputs...)
			if isOff {
				second.machine(first)
			}
			second.do(0).WantOutputs(t, "status", "completed", "result", "all done", "workflow-id", id)
			second.post()
			third := s.job(3, "cage", "on", "max-iterations", "9", "resume", id+"@3").with(inputs...)
			e := third.do(0)
			e.WantOutputs(t, "status", "completed", "result", "all done")
			assert.Check(t, !strings.Contains(e.Stdout, "begins a new one") && e.Outputs["workflow-id"] != id, "a run that begins as another one: got %v, want a copy of its conversation", e)
		})
	}
}
