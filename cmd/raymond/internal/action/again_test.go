//go:build linux

package action_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// wrongAtTheEnd is a workflow whose last prompt contains a wrong sentence. It creates an
// uncommitted file before that prompt, and overwrites it afterwards.
const wrongAtTheEnd = `-- wf/START.md --
log: start
reply:
<goto>EDIT.sh</goto>
end.
-- wf/EDIT.sh --
echo work >work.txt; echo '<goto>MIDDLE.md</goto>'
-- wf/MIDDLE.md --
log: middle
reply:
<goto>END.md</goto>
end.
-- wf/END.md --
log: a wrong sentence
reply:
<goto>LOOK.sh</goto>
end.
-- wf/LOOK.sh --
echo "[$(cat work.txt)]" >>"$EFFECTS"; echo spoiled >work.txt; echo '<result>wrong</result>'
`

// TestRerunFromAState checks that a new run begins with the conversations and files that a
// completed run had before a state execution, and with the current prompts. A rerun from a state
// execution or of a key that does not exist is refused.
func TestRerunFromAState(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, wrongAtTheEnd)
	s.job(1, "max-iterations", "4").do(problem.ExitCodes[problem.ClassOverLimit])
	first := s.job(9, "max-iterations", "9").do(0) // the workspace snapshots of the first job are stored again
	first.WantOutputs(t, "status", "completed", "result", "wrong")
	id := first.Outputs["workflow-id"]
	conversations := func() map[string]bool {
		ids := map[string]bool{}
		for _, e := range s.newest("agent-build.ref-main").Run.Ledger {
			ids[e.Session] = e.Session != ""
		}
		return ids
	}
	old := conversations()
	sitetest.Commit(t, s.repo, strings.NewReplacer("<result>wrong", "<result>right", "a wrong sentence", "a right sentence").Replace(wrongAtTheEnd))
	for run, from := range []string{"4", "END", "END.md#1"} {
		done := s.done()
		e := s.job(int64(2+run), "resume", id+"@"+from).do(0)
		e.WantOutputs(t, "status", "completed", "result", "right")
		assert.Check(t, e.Outputs["workflow-id"] != id, "from %s: got the first run's id, want a new one", from)
		for id, isOne := range conversations() {
			if len(old) == 0 || isOne && old[id] {
				t.Errorf("from %s: the new run goes on with the first one's conversation %s", from, id)
			}
		}
		again := strings.TrimPrefix(s.done(), done)
		isCut := strings.Contains(again, `"user: log: middle"`) && !strings.Contains(again, "wrong sentence")
		if strings.Count(again, `"state":`) != 1 || !isCut || !strings.Contains(again, "a right sentence") || !strings.HasSuffix(again, "[work]") {
			t.Errorf("from %s: got %q, want the last prompt alone, in its conversation, and the work as it was then", from, again)
		}
		data, err := os.ReadFile(e.Outputs["events-file"])
		want := fmt.Sprintf(`"rerun_of":%q,"rerun_exec":4`, id)
		if err != nil || !strings.Contains(string(data), want) || !strings.Contains(string(data), `"exec":4`) {
			t.Errorf("from %s: events %s, %v, want %s", from, data, err, want)
		}
	}
	done := s.done()
	s.job(10, "resume", id+"@9").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "1 to 5")
	s.job(10, "resume", id+"@1", "key", "other").do(problem.ExitCodes[problem.ClassUsage]).WantAnnotation(t, "error", "no checkpoint")
	s.wantDone(done)
}

// TestForgedHistoryIsRefused checks that a damaged history is not used, and that options and states
// in a well-formed but forged history have no effect.
func TestForgedHistoryIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, wrongAtTheEnd)
	dir := t.TempDir()
	local := []string{"store", "local", "state-dir", dir, "workspace", "none"}
	id := s.job(1, local...).do(0).Outputs["workflow-id"]
	path := filepath.Join(dir, "o", "r", id+".journal")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	forge := func(change func(line string) string) {
		t.Helper()
		var forged strings.Builder
		for line := range strings.Lines(string(text)) {
			data := change(strings.TrimSuffix(line[9:], "\n"))
			fmt.Fprintf(&forged, "%08x %s\n", crc32.Checksum([]byte(data), crc32.MakeTable(crc32.Castagnoli)), data)
		}
		assert.NilError(t, os.WriteFile(path, []byte(forged.String()), 0o600))
	}
	done := s.done()
	for name, c := range map[string]struct {
		change func(string) string
		class  problem.Class
		want   string
	}{
		"another run's": {func(line string) string {
			return strings.ReplaceAll(line, `"workflow_id":"`+id+`"`, `"workflow_id":"other"`)
		}, problem.ClassUsage, "was not saved"},
		"a state not there": {func(line string) string {
			return strings.NewReplacer(`"state":"END.md"`, `"state":"EVIL.md"`, `"END.md":1`, `"EVIL.md":1`).Replace(line)
		}, problem.ClassWorkflow, "EVIL.md: is missing"},
	} {
		forge(c.change)
		s.job(2, append(local, "resume", id+"@4")...).do(problem.ExitCodes[c.class]).WantAnnotation(t, "error", c.want)
		assert.Check(t, is.Equal(s.done(), done), "%s: want nothing started", name)
	}
	forge(func(line string) string {
		return strings.Replace(line, `"options":{`, `"options":{"dangerously_skip_permissions":true,"allowed_tools":["Bash"],`, 1)
	})
	again := s.job(3, append(local, "resume", id+"@END", "budget", "3")...).do(0).Outputs["workflow-id"]
	run, err := journal.Read(filepath.Join(dir, "o", "r"), again)
	if err != nil || run.Options.SkipPermissions || len(run.Options.AllowedTools) > 0 || run.Options.BudgetUSD != 3*state.Dollar {
		t.Errorf("options of the new run: got %+v, %v, want those of the job", run.Options, err)
	}
}
