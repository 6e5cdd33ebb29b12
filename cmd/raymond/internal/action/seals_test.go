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
)

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
	"state file":            {file: "ID.json", old: "START", new: "OTHER"},
	"journal emptied":       {file: "ID.journal"},
	"chain":                 {file: "ID/checkpoint.json", old: `"generation":`, new: `"generation":9`},
	"note":                  {file: "step.note", old: `"key":`, new: `"lost":true,"key":`},
	"others' conversations": {file: "sessions.note", new: `{"session":"` + strangers + `"}` + "\n"},
	"events emptied":        {file: "ID/events.jsonl"},
	"the event of the job":  {file: "../../_github_workflow/event.json", old: "4711", new: "4712"},
	"seals removed":         {file: "seals", isGone: true},
}

// TestAlteredRunFilesAreNotStored checks that the post phase stores no altered run. It would sign
// the changes of an agent, and the next run would continue where the agent wants. The checkpoint
// that the main phase stored stays unchanged, the key is released, and the step's conversations are
// removed from the machine, as far as the notes about them are unaltered.
func TestAlteredRunFilesAreNotStored(t *testing.T) {
	t.Parallel()
	for name, a := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newForgeScene(t, spending)
			j := s.job(1).often()
			c := j.start()
			c.Until("the script", func() bool { return len(s.stored("-claim")) == 1 && len(s.checkpoints()) == 1 })
			c.Kill()
			assert.Assert(t, is.Len(j.conversations(), 1), "conversations of the main phase")
			list, err := filepath.Glob(filepath.Join(j.StepDir(), "*.json"))
			assert.NilError(t, err, "state files")
			assert.Assert(t, is.Len(list, 1), "state files")
			a.do(t, j.StepDir(), strings.TrimSuffix(filepath.Base(list[0]), ".json"))
			if payload, err := os.ReadFile(j.Env["GITHUB_EVENT_PATH"]); err == nil {
				j.Payload = string(payload) // the runner doesn't write it again
			}
			e := j.end(j.command("action-post"))
			assert.Equal(t, e.Code, problem.ExitCodes[problem.ClassDenied], "post phase")
			e.WantAnnotation(t, "error", "denied: ", strings.TrimPrefix(filepath.Base(a.file), "ID"), "altered since this step wrote it; ")
			assert.Check(t, is.Len(s.checkpoints(), 1), "checkpoints: want the one that the main phase stored")
			if strings.HasPrefix(a.file, "ID") {
				assert.Check(t, is.Len(s.stored("-claim"), 0), "claims")
				assert.Check(t, is.Len(j.conversations(), 0), "conversations")
			}
		})
	}
}
