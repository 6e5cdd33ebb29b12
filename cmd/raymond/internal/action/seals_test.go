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

// waitsInTheMiddle is a workflow that has executed two states when it waits to be killed.
const waitsInTheMiddle = `-- wf/START.sh --
echo '<goto>NEXT.sh</goto>'
-- wf/NEXT.sh --
echo '<goto>MIDDLE.sh</goto>'
-- wf/MIDDLE.sh --
echo here >>"$EFFECTS"; until [ -e "$EFFECTS.go" ]; do sleep 0.01; done; echo '<result>done</result>'
`

// killedInTheMiddle returns a job whose main phase was killed, and the id of its run.
func killedInTheMiddle(t *testing.T) (s *scene, j *bareJob, id string) {
	t.Helper()
	s = newScene(t, waitsInTheMiddle)
	j = s.job(1)
	c := j.start()
	c.Until("the middle", func() bool { return s.done() != "" })
	c.Kill()
	list, err := filepath.Glob(filepath.Join(j.StepDir(), "*.json"))
	assert.NilError(t, err, "state files")
	assert.Assert(t, is.Len(list, 1), "state files")
	return s, j, strings.TrimSuffix(filepath.Base(list[0]), ".json")
}

// alteration is a change that an agent makes to a file in the step's directory.
type alteration struct {
	file     string // ID is replaced by the run's id
	old, new string // new replaces old; if old is "", new replaces everything
	isGone   bool   // the file is removed instead
}

func (a alteration) do(t *testing.T, dir, id string) {
	t.Helper()
	path := filepath.Join(dir, strings.ReplaceAll(a.file, "ID", id))
	if a.isGone {
		assert.NilError(t, os.Remove(path))
		return
	}
	data, err := os.ReadFile(path)
	assert.Assert(t, err == nil || os.IsNotExist(err), "%v", err)
	text := a.new
	if a.old != "" {
		text = strings.ReplaceAll(string(data), a.old, a.new)
	}
	assert.Assert(t, text != string(data), "%s: got %q, want it to be another one", path, data)
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}

var alterations = map[string]alteration{
	"state file":            {file: "ID.json", old: `"START.sh"`, new: `"MIDDLE.sh"`},
	"journal emptied":       {file: "ID.journal"},
	"chain":                 {file: "ID/checkpoint.json", old: `"generation":0`, new: `"generation":9`},
	"note":                  {file: "step.note", old: `"key":`, new: `"lost":true,"key":`},
	"others' conversations": {file: "sessions.note", new: `{"session":"` + strangers + `"}` + "\n"},
	"events emptied":        {file: "ID/events.jsonl"},
	"the event of the job":  {file: "../../_github_workflow/event.json", old: "4711", new: "4712"},
	"seals removed":         {file: "seals", isGone: true},
}

// TestAlteredRunFilesAreNotStored checks that the post phase stores no altered run. It would sign
// the changes of an agent, and the next run would continue where the agent wants.
func TestAlteredRunFilesAreNotStored(t *testing.T) {
	t.Parallel()
	for name, a := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j, id := killedInTheMiddle(t)
			before := len(s.forge.Checkpoints(t, nil))
			a.do(t, j.StepDir(), id)
			if payload, err := os.ReadFile(j.Env["GITHUB_EVENT_PATH"]); err == nil {
				j.Payload = string(payload) // the runner doesn't write it again
			}
			e := j.end(j.command("action-post"))
			assert.Equal(t, e.Code, problem.ExitCodes[problem.ClassDenied], "post part")
			e.WantAnnotation(t, "error", "denied: ", strings.TrimPrefix(filepath.Base(a.file), "ID"), "altered since this step wrote it; ")
			assert.Check(t, is.Equal(len(s.forge.Checkpoints(t, nil)), before), "checkpoints: want those that the main part stored")
		})
	}
}

// TestDenialLeavesNothingBehind checks that after a denial the key is released and the step's
// conversations are removed from the machine. The checkpoint that the main phase stored stays
// unchanged.
func TestDenialLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := newScene(t, spending)
	j := s.job(1).often()
	c := j.start()
	c.Until("the script", func() bool { return len(s.stored("-claim")) == 1 && len(s.forge.Checkpoints(t, nil)) == 1 })
	c.Kill()
	assert.Assert(t, is.Len(j.conversations(), 1), "conversations of the main part")
	states, err := filepath.Glob(filepath.Join(j.StepDir(), "*.json"))
	assert.NilError(t, err, "state files")
	assert.Assert(t, is.Len(states, 1), "state files")
	j.Site.Write(states[0], strings.ReplaceAll(sitetest.Read(j.T, states[0]), "START", "OTHER"))
	assert.Check(t, is.Equal(j.end(j.command("action-post")).Code, problem.ExitCodes[problem.ClassDenied]), "post part")
	assert.Check(t, is.Len(s.stored("-claim"), 0), "claims")
	assert.Check(t, is.Len(j.conversations(), 0), "conversations")
	assert.Check(t, is.Equal(len(s.forge.Checkpoints(t, nil)), 1), "checkpoints: want the one that the main part stored")
}
