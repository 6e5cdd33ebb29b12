//go:build linux && world

package e2e

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
	"github.com/raymond-action/raymond-action/runner/clitest"
	"github.com/raymond-action/raymond-action/runner/insight"
)

const wrong = `-- 1_START.md --
First prompt.
say: one <goto>TWO</goto>
-- TWO.md --
Second prompt.
shell: echo it is there
say: two <goto>THREE</goto>
-- THREE.md --
Third prompt, wrong.
say: three <result>wrong</result>
`

// checkAgain reruns a run from its last state. It checks that the new run gets a copy of the conversation up to that state,
// that the old conversation is unchanged, and that the report shows the messages of both conversations.
func checkAgain(t *testing.T, v clitest.Vendor) {
	m := newMachine(t, v, wrong)
	m.run(0, "--permission-mode", "bypassPermissions")
	before := transcriptsBelow(t, m.home)
	m.Write(filepath.Join(m.Flow, "THREE.md"), "Third prompt, right.\nsay: three again <result>right</result>\n")
	o := waitLong(m.Start(slices.Concat([]string{"rerun", sitetest.RunID, "--from", "THREE", "--workflow-id", "again"}, m.paths())...))
	assert.Check(t, is.Equal(o.Code, 0), "rerun")
	assert.Check(t, is.Equal(strings.TrimSpace(o.Stdout), "right"), "rerun")
	m.wantShown("First prompt.", "Second prompt.", "Third prompt, right.")
	after := transcriptsBelow(t, m.home)
	for path, text := range before {
		assert.Check(t, is.Equal(after[path], text), "%s: got it changed by the rerun", path)
	}
	if len(after) == len(before) {
		t.Errorf("transcripts after the rerun: got %q, want one more", slices.Sorted(maps.Keys(after)))
	}
	wantSaid(t, m, sitetest.RunID, "user: First prompt.", "agent: one", "tool: it is there", "agent: two", "user: Third prompt, wrong.", "agent: three")
	wantSaid(t, m, "again", "user: Third prompt, right.", "agent: three again")
}

// transcriptsBelow returns the contents of the CLI's conversation files by path.
func transcriptsBelow(t *testing.T, home string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	assert.NilError(t, err, "transcripts in %s", home)
	assert.Assert(t, len(all) != 0, "transcripts in %s: got %d, %v, want some", home, len(all), err)
	return all
}

// wantSaid checks the messages of the conversations in a run's report, in order.
func wantSaid(t *testing.T, m *machine, id string, want ...string) {
	t.Helper()
	o := m.Start("report", id, "--json", "-o", "-").Wait()
	var r insight.Report
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Errorf("report of %s: %v: %v", id, err, o)
		return
	}
	rest := want
	var all []string
	for _, e := range r.Executions {
		for _, said := range e.Messages {
			line := string(said.From) + ": " + said.Text
			if all = append(all, line); len(rest) > 0 && strings.Contains(line, strings.TrimPrefix(rest[0], "tool: ")) && strings.HasPrefix(line, rest[0][:5]) {
				rest = rest[1:]
			}
		}
	}
	if len(rest) > 0 {
		t.Errorf("messages of %s: got %q, want %q from %q on", id, all, want, rest[0])
	}
}
