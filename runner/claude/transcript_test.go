package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/transcripts"
	"github.com/raymond-action/raymond-action/state"
)

// TestSlug checks the names of directories with sessions. The conformance test also checks them: it
// finds transcripts of the real CLI by these names.
func TestSlug(t *testing.T) {
	long := "/" + strings.Repeat("abcdefghi/", 25)
	tests := []struct{ dir, want string }{
		{"/home/me/my_repo.git", "-home-me-my-repo-git"},
		{"/ä/😀", "-----"}, // the emoji has two UTF-16 units
		{long[:200], "-" + strings.Repeat("abcdefghi-", 20)[:199]},
	}
	for _, tt := range tests {
		assert.Check(t, is.Equal(slug(tt.dir), tt.want), "slug %q", tt.dir)
	}
	a, b := slug(long), slug(long+"x")
	assert.Check(t, a != b && a[:201] == b[:201] && len(a) <= 210, "slugs of long paths: got %q and %q, want the same 200 characters and different hashes", a, b)
}

// homeWith returns a store with one session, the directory in which the session began, and the path of
// its transcript.
func homeWith(t *testing.T, id, content string) (k transcripts.Store, dir, file string) {
	t.Helper()
	config := t.TempDir()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	file = filepath.Join(config, "projects", slug(dir), id+".jsonl")
	assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	assert.NilError(t, os.WriteFile(file, []byte(content), 0o600))
	return transcriptsOf([]string{"CLAUDE_CONFIG_DIR=" + config}), dir, file
}

// TestUsageCountsMessagesOnce checks that each message after the given byte is counted once, by model
// and with the numbers in its last line.
func TestUsageCountsMessagesOnce(t *testing.T) {
	line := func(id, model, usage string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"` + model + `","usage":` + usage + `}}` + "\n"
	}
	before := line("m0", "opus", `{"input_tokens":9}`)
	b, dir, _ := homeWith(t, sessionUUID, before+
		line("m1", "opus", `{"input_tokens":5,"output_tokens":1}`)+
		line("m1", "opus", `{"input_tokens":5,"output_tokens":7}`)+
		line("m2", "haiku", `{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3}`)+
		line("m3", "<synthetic>", `{"input_tokens":99}`)+
		`{"type":"user","message":{"id":"m4","model":"opus","usage":{"input_tokens":99}}}`+"\nnot json\n"+
		line("m5", "opus[1m]", `{"output_tokens":10}`)+
		line("m6", "opus", `{"output_tokens":-5}`)+`{"type":"assist`)
	got, ok := b.Usage(runner.Conversation{ID: sessionUUID, Dir: dir}, int64(len(before)))
	want := []state.Usage{{Model: "haiku", Input: 1, CacheWrite: 2, CacheRead: 3}, {Model: "opus", Input: 5, Output: 17}}
	diff := cmp.Diff(want, got)
	assert.Check(t, diff == "" && ok, "usage %v (-want +got):\n%s", ok, diff)
	for _, from := range []int64{1 << 40, -1} {
		got, ok := b.Usage(runner.Conversation{ID: sessionUUID, Dir: dir}, from)
		assert.Check(t, !ok, "usage from byte %d: got %v, want none", from, got)
	}
	got, ok = b.Usage(runner.Conversation{ID: sessionID, Dir: dir}, 0)
	assert.Check(t, !ok, "usage of no session: got %v, want none", got)
}

// sessionID is the id of the session in these tests.
const sessionID = "0a0b0c0d-0000-4000-8000-00000000000a"

const sessionUUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// TestRemovedDirectoriesKeepTheirSessions checks that a conversation can be placed and found although
// its working directory doesn't exist. A worktree may be removed before its conversation is stored, and
// may not exist yet when the conversation is restored.
func TestRemovedDirectoriesKeepTheirSessions(t *testing.T) {
	b, dir, file := homeWith(t, sessionUUID, prompted)
	stored := filepath.Join(t.TempDir(), "stored")
	assert.NilError(t, errors.Join(os.WriteFile(stored, []byte(prompted), 0o600), os.RemoveAll(dir), os.RemoveAll(filepath.Dir(file))))
	assert.NilError(t, b.Place(runner.Conversation{ID: sessionUUID, Dir: dir}, stored))
	info, err := os.Stat(filepath.Dir(file))
	assert.Check(t, err == nil && info.Mode().Perm() == 0o700, "the folder that was made: got %v, %v, want mode 0700", info, err)
	got, ok := b.Find(runner.Conversation{ID: sessionUUID}, []string{"/elsewhere", dir})
	assert.Check(t, ok && got.Path == file && got.Dir == dir, "got %+v, %v, want %s of %s", got, ok, file, dir)
}

// TestHostileTranscripts checks transcripts that agents could write to do harm: with a size of
// terabytes, or with lines that would fill the memory. Reading them must not take long, and must not
// return a result.
func TestHostileTranscripts(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	empty := strings.Repeat("{},", 200_000)
	spoke := `{"type":"assistant","message":{"id":"%s%d","model":"m","usage":{"input_tokens":1}}}` + "\n"
	var messages strings.Builder
	for i := range transcripts.MaxMessages + 1 {
		fmt.Fprintf(&messages, spoke, "msg", i)
	}
	for name, c := range map[string]struct {
		text   string
		length int64 // size of the file; 0 means the length of text
	}{
		"sparse":          {fmt.Sprintf(spoke, "a", 1), 10 << 40},
		"many values":     {`{"type":"assistant","message":{"id":"x","a":[` + empty + `{}]}}` + "\n", 0},
		"many counts":     {`{"type":"cost-state","totalCostUSD":1,"modelUsage":{"m":{},"a":[` + empty + `{}]}}` + "\n", 0},
		"many messages":   {messages.String(), 0},
		"names like text": {fmt.Sprintf(spoke, strings.Repeat("a", transcripts.MaxNames), 1), 0},
	} {
		d, dir, path := homeWith(t, id, c.text)
		assert.NilError(t, os.Truncate(path, max(c.length, int64(len(c.text)))), "the file system of the temporary folder has no files of that size; name another one by TMPDIR")
		usage, ok := d.Usage(runner.Conversation{ID: id, Dir: dir}, 0)
		assert.Check(t, !ok, "%s: the usage is %v", name, usage)
		count := (priorCount{path: path, size: int64(len(c.text))}).read()
		assert.Check(t, is.Nil(count.Models), "%s: a count %v", name, count)
		_, ok = d.Find(runner.Conversation{ID: id}, []string{dir})
		assert.Check(t, !ok, "%s: got a transcript that holds a prompt", name)
	}
}

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

// conversation returns a backend that has one transcript, the directory in which the conversation can be
// resumed, and the path of the transcript.
func conversation(t *testing.T, id, content string) (b *Backend, dir, file string) {
	t.Helper()
	k, dir, file := homeWith(t, id, content)
	return &Backend{CLI: program.CLI{Env: []string{"CLAUDE_CONFIG_DIR=" + k.Root}}}, dir, file
}

// prompted is a transcript that can be resumed, because it contains a prompt.
const prompted = `{"type":"queue-operation"}` + "\n" + `{"parentUuid":null,"type":"user","message":{}}` + "\n"

// TestCutBack checks that cutting back makes a transcript shorter and never longer. It also checks that
// there is a failure if the transcript then can't be resumed.
func TestCutBack(t *testing.T) {
	whole := prompted + `{"type":"assistant"}` + "\n"
	at := func(n int) *int64 { m := int64(n); return &m }
	tests := []struct {
		name, content string
		cut           *int64
		want          string
		wantFail      bool
	}{
		{"nothing to cut", whole, nil, whole, false},
		{"cut", whole, at(len(prompted)), prompted, false},
		{"longer than the file", whole, at(len(whole) + 100), whole, false},
		{"negative", whole, at(-1), whole, false},
		{"no prompt left", whole, at(20), whole[:20], true},
		{"never a prompt", `{"type":"queue-operation"}` + "\n", nil, `{"type":"queue-operation"}` + "\n", true},
		{"garbage around the prompt", "\x00{\n" + prompted + "{", nil, "\x00{\n" + prompted + "{", false},
	}
	for _, tt := range tests {
		b, dir, file := conversation(t, chosen, tt.content)
		_, path, f := transcriptsOf(b.Env).Prepare(runner.PromptOrder{Session: state.Resume, SessionID: chosen, Cut: tt.cut}, dir)
		got, err := os.ReadFile(file)
		if err != nil || string(got) != tt.want || (f != nil) != tt.wantFail || (path == file) == tt.wantFail || f != nil && f.Class != runner.Fatal {
			t.Errorf("%s: got %q, %v, %q, %v, want %q, failure %v", tt.name, got, err, path, f, tt.want, tt.wantFail)
		}
	}
	b, dir, file := conversation(t, chosen, whole)
	for id, o := range map[string]runner.PromptOrder{"other": {Session: state.Resume, SessionID: "other", Cut: at(5)}, chosen: {Session: state.Branch, SessionID: "new", From: chosen, Cut: at(1)}} {
		got, _, f := transcriptsOf(b.Env).Prepare(o, dir)
		text, err := os.ReadFile(file)
		assert.Check(t, got == id && f == nil && string(text) == whole && err == nil, "%s of %s: got %q, %v, and %q, %v, want the transcript left alone", o.Session, id, got, f, text, err)
	}
	for id, want := range map[string]int{"other": 1, chosen: 0} {
		notes, f := b.prepareConversation(runner.Order{Prompt: runner.PromptOrder{Session: state.Resume, SessionID: id, Cut: at(len(whole))}, Dir: dir})
		assert.Check(t, f == nil && len(notes) == want, "%s: got the notes %q, %v, want %d: one where there is no transcript to cut back", id, notes, f, want)
	}
}

// TestSymbolicLinksAreNoTranscripts checks that a conversation can be neither resumed nor branched if
// its transcript is a symbolic link.
func TestSymbolicLinksAreNoTranscripts(t *testing.T) {
	b, dir, file := conversation(t, chosen, prompted)
	assert.NilError(t, errors.Join(os.Remove(file), os.Symlink("elsewhere", file)))
	for _, o := range []runner.PromptOrder{{Session: state.Resume, SessionID: chosen}, {Session: state.Branch, SessionID: "new", From: chosen}} {
		_, _, f := transcriptsOf(b.Env).Prepare(o, dir)
		assert.Check(t, f != nil && f.Class == runner.Fatal, "%s: got %v, want it refused", o.Session, f)
	}
}
