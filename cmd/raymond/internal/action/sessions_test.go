//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// conversations are the session files that the agent CLI of a job's machine has.
func (j *bareJob) conversations() []string {
	j.t.Helper()
	found, err := filepath.Glob(filepath.Join(j.env["HOME"], ".claude", "projects", "*", "*.jsonl"))
	if err != nil {
		j.t.Fatal(err)
	}
	return found
}

// machine has the job on the machine of another one: its HOME is the same.
func (j *bareJob) machine(other *bareJob) *bareJob { return j.set("HOME", other.env["HOME"]) }

// talks is a job whose agents are the stub's.
func (s *scene) talks(run int64, inputs ...string) *bareJob {
	s.t.Helper()
	return s.job(run, inputs...).with("claude-path", sitetest.Stub.Path(s.t))
}

// post is the post part of a step, which must succeed.
func (j *bareJob) post() ended {
	j.t.Helper()
	e := j.end(j.command("action-post"))
	if e.Code != 0 {
		j.t.Errorf("post part: got %v, want success", e)
	}
	return e
}

const strangers = "11111111-2222-4333-8444-555555555555"

// TestPostRemovesConversations that are stored, or that nobody needs any more, with
// the folders beside them: of a run that is resumed later, of one that resumes from a
// checkpoint, and of one whose conversations are never stored. Others' stay.
func TestPostRemovesConversations(t *testing.T) {
	t.Parallel()
	s := newScene(t, agentAtWork)
	first := s.talks(1, "max-iterations", "1")
	theirs := filepath.Join(first.env["HOME"], ".claude", "projects", "stub", strangers+".jsonl")
	first.site.Write(theirs, "theirs\n")
	first.do(problem.ExitCodes[problem.ClassOverLimit])
	own := slices.DeleteFunc(first.conversations(), func(path string) bool { return path == theirs })
	if len(own) != 1 {
		t.Fatalf("conversations after the main part: got %v, want one besides %s", own, theirs)
	}
	beside := strings.TrimSuffix(own[0], ".jsonl")
	first.site.Write(filepath.Join(beside, "subagents", "x.jsonl"), "x")
	first.post()
	if got := first.conversations(); !slices.Equal(got, []string{theirs}) || sitetest.Exists(beside) {
		t.Errorf("conversations after the post part: got %v, folder beside %v; want %s alone", got, sitetest.Exists(beside), theirs)
	}

	second := s.talks(2, "max-iterations", "9").machine(first)
	second.do(0).wantOutputs(t, "status", "completed", "result", "all done")
	if got := second.conversations(); len(got) != 2 {
		t.Fatalf("conversations of the run that is resumed: got %v, want its own and %s", got, theirs)
	}
	second.post()
	if got := second.conversations(); !slices.Equal(got, []string{theirs}) {
		t.Errorf("after the post part of the run that went on: got %v, want %s", got, theirs)
	}

	open := s.public(3, "max-iterations", "1", "key", "open")
	open.do(problem.ExitCodes[problem.ClassOverLimit])
	if got := open.conversations(); len(got) != 1 {
		t.Fatalf("conversations in a public repository: got %v, want one", got)
	}
	open.post()
	if got := open.conversations(); len(got) != 0 {
		t.Errorf("conversations that are never stored: got %v left, want none", got)
	}
}

// TestPostRemovesTheConversationsOfAKilledStep, of which it stores the end itself.
func TestPostRemovesTheConversationsOfAKilledStep(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	j := s.talks(1)
	c := j.start()
	c.Until("the agent", func() bool { return s.asked() == 1 })
	j.site.KillAll(c)
	j.post()
	if got := j.conversations(); len(got) != 0 {
		t.Errorf("conversations after the post part: got %v, want none", got)
	}
	if got := s.checkpoints(); len(got) == 0 {
		t.Error("checkpoints: got none, want the one with the conversation")
	}
	s.letGo()
	s.talks(2).do(0).wantOutputs(t, "status", "completed")
}

// TestConversationsThatStay: they stay where they are the only copy, and where what
// is there is not what the step has left.
func TestConversationsThatStay(t *testing.T) {
	t.Parallel()
	stop := problem.ExitCodes[problem.ClassOverLimit]
	for name, c := range map[string]struct {
		before func(s *scene, j *bareJob)
		code   int
		after  func(s *scene, file string)
	}{
		"store: local": {func(s *scene, j *bareJob) { j.with("store", "local", "state-dir", s.t.TempDir()) }, stop, nil},
		"the last save failed": {func(s *scene, _ *bareJob) {
			s.forge.Fail(artifactstest.Fault{Op: "CreateArtifact", Times: 999, Status: 403})
		}, problem.ExitCodes[problem.ClassStore], nil},
		"somebody went on with it": {nil, stop, func(s *scene, file string) {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				s.t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(`{"type":"user","message":{"role":"user","content":"more"}}` + "\n"); err != nil {
				s.t.Fatal(err)
			}
		}},
		"a link took its place": {nil, stop, func(s *scene, file string) {
			other := filepath.Join(s.t.TempDir(), "other")
			if err := os.Rename(file, other); err != nil {
				s.t.Fatal(err)
			}
			if err := os.Symlink(other, file); err != nil {
				s.t.Fatal(err)
			}
		}},
	} {
		s := newScene(t, agentAtWork)
		j := s.talks(1, "max-iterations", "1")
		if c.before != nil {
			c.before(s, j)
		}
		if e := j.end(j.start()); e.Code != c.code {
			t.Fatalf("%s: got %v, want exit code %d", name, e, c.code)
		}
		before := j.conversations()
		if len(before) != 1 {
			t.Fatalf("%s: conversations: got %v, want one", name, before)
		}
		if c.after != nil {
			c.after(s, before[0])
		}
		j.end(j.command("action-post"))
		if got := j.conversations(); !slices.Equal(got, before) {
			t.Errorf("%s: conversations after the post part: got %v, want %v", name, got, before)
		}
	}
}

// twoAgents is a workflow whose callee is run by a program of the user's own, in a
// conversation of two states.
const twoAgents = `-- wf/START.md --
---
agent: claude
---
reply:
<function return="END.md">WORK.md</function>
end.
-- wf/WORK.md --
Work.
-- wf/MORE.md --
Work on.
-- wf/END.md --
reply:
<result>{{result}}</result>
end.
`

// ownProgram keeps each conversation in the file that it is given, and names it by an id of its
// own. What it says in the end is all that the conversation has.
const ownProgram = `echo "$RAYMOND_SESSION_MODE $RAYMOND_SESSION $RAYMOND_STATE" >>"$RAYMOND_SESSION_FILE"
echo '{"type":"session","id":"own-1"}'
echo '{"type":"cost","usd":0}'
case $RAYMOND_STATE in
WORK*) echo '{"type":"text","text":"<goto>MORE.md</goto>"}' ;;
*) echo "{\"type\":\"text\",\"text\":\"<result>$(tr '\n' ';' <"$RAYMOND_SESSION_FILE")</result>\"}" ;;
esac`

// TestTheConversationsOfTwoAgentsAreCarried to another machine, each by its own agent, and the
// post part leaves neither where it was.
func TestTheConversationsOfTwoAgentsAreCarried(t *testing.T) {
	t.Parallel()
	s := newScene(t, twoAgents)
	job := func(run int64, iterations string) *bareJob {
		return s.talks(run, "agent-command", ownProgram, "max-iterations", iterations)
	}
	own := func(j *bareJob) []string {
		found, _ := filepath.Glob(filepath.Join(j.env["HOME"], ".local", "state", "raymond", "conversations", "*"))
		return append(found, j.conversations()...)
	}
	first, second := job(1, "2"), job(2, "9")
	first.do(problem.ExitCodes[problem.ClassOverLimit])
	if got := own(first); len(got) != 2 {
		t.Errorf("conversations of the first job: got %v, want one of each agent", got)
	}
	first.post()
	second.do(0).wantOutputs(t, "status", "completed", "result", "fresh  WORK.md;resume own-1 MORE.md;")
	if got := own(second); len(got) != 2 {
		t.Errorf("conversations of the second job: got %v, want one of each agent", got)
	}
	second.post()
	for n, j := range []*bareJob{first, second} {
		if got := own(j); len(got) != 0 {
			t.Errorf("job %d: conversations after the post part: got %v, want none", n+1, got)
		}
	}
}
