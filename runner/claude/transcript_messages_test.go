package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// messagesOf returns the messages of a session. Each is formatted as one line.
func messagesOf(t *testing.T, d transcripts.Store, session, dir string) (list []string) {
	t.Helper()
	err := d.Read(runner.Conversation{ID: session, Dir: dir}, 0, -1, func(m runner.Message) error {
		line := string(m.From) + ": " + m.Tool + m.Input + m.Text
		if m.Subagent != "" {
			line = m.Subagent + " " + line
		}
		list = append(list, line)
		return nil
	})
	assert.NilError(t, err)
	return list
}

// TestTextOfTheCLIIsAttributedToIt checks that reminders, summaries and errors are shown as text of the
// CLI, not of the user or the model.
func TestTextOfTheCLIIsAttributedToIt(t *testing.T) {
	d, dir, _ := homeWith(t, sessionUUID, strings.Join([]string{
		`{"type":"user","message":{"content":"hello"},"timestamp":"no time"}`,
		`{"type":"user","isMeta":true,"message":{"content":"go on"}}`,
		`{"type":"user","isCompactSummary":true,"message":{"content":"so far"}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"<system-reminder>r</system-reminder>"},{"type":"image"},{"type":"text","text":""}]}}`,
		`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`,
		`{"type":"system","subtype":"compact_boundary","content":"Conversation compacted"}`, `{"type":"system","content":{}}`,
		`{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"1","name":"Read","input":{"a":1}},{"type":"tool_use","id":"2"}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"= x"},{"type":"image"}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"9","content":"late"}]}}`,
		`not json`, `{"type":"user","message":7}`, `{"type":"user","message":{"content":7}}`, `{"type":"summary","summary":"s"}`, `{"type":"assist`,
	}, "\n"))
	want := []string{
		"user: hello", "cli: go on", "cli: so far", "cli: <system-reminder>r</system-reminder>", "user: [image]", "cli: API Error",
		"cli: Conversation compacted", `tool: Read{"a":1}= x` + "\n[image]", "tool: tool", "tool: late",
	}
	assert.Check(t, is.DeepEqual(messagesOf(t, d, sessionUUID, dir), want), "messages")
}

// TestForgedSubagents checks files of subagents that agents could forge. If subagents contain each
// other, reading must end, and symbolic links must not be followed.
func TestForgedSubagents(t *testing.T) {
	use := func(id string) string {
		return `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + id + `","name":"Agent"}]}}` + "\n"
	}
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	write(t, outside, `{"type":"user","message":{"content":"secret"}}`)
	for name, tt := range map[string]struct {
		change func(folder string)
		want   int
	}{
		"each other": {func(string) {}, 5},
		"a file is a link": {func(f string) {
			assert.NilError(t, os.Remove(filepath.Join(f, "agent-b.jsonl")))
			assert.NilError(t, os.Symlink(outside, filepath.Join(f, "agent-b.jsonl")))
		}, 3},
		"the folder is a link": {func(f string) {
			assert.NilError(t, os.Rename(f, f+"s"))
			assert.NilError(t, os.Symlink(f+"s", f))
		}, 1},
	} {
		d, dir, file := homeWith(t, sessionUUID, use("1"))
		folder := filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents")
		for agent, of := range map[string]string{"a": "1", "b": "2"} {
			write(t, filepath.Join(folder, "agent-"+agent+".meta.json"), `{"agentType":"helper","toolUseId":"`+of+`"}`)
			write(t, filepath.Join(folder, "agent-"+agent+".jsonl"), use("2")+use("1"))
		}
		tt.change(folder)
		var got []string
		err := d.Read(runner.Conversation{ID: sessionUUID, Dir: dir}, 0, -1, func(m runner.Message) error {
			got = append(got, m.Subagent+m.Text)
			return nil
		})
		assert.Check(t, len(got) == tt.want && err == nil && !strings.Contains(strings.Join(got, ""), "secret"), "%s: got %q, %v, want %d messages", name, got, err, tt.want)
	}
}

// write writes a file and creates its directory.
func write(t *testing.T, path, text string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
}
