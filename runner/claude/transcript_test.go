package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
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
