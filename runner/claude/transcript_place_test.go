package claude

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
)

const sessionUUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// TestTranscriptOfASession: the file of the likeliest directory that has one, else
// any; never one without a prompt.
func TestTranscriptOfASession(t *testing.T) {
	b, dir, file := homeWith(t, sessionUUID, prompted)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	for _, name := range []string{"../" + sessionUUID, "a-1"} { // files whose names are no session's
		must(t, os.WriteFile(filepath.Join(filepath.Dir(file), name+".jsonl"), []byte(prompted), 0o600))
	}
	for _, tt := range []struct {
		session string
		dirs    []string
		want    string // directory; "" for none
	}{
		{sessionUUID, []string{dir}, dir},
		{sessionUUID, []string{"/elsewhere", dir, link}, dir},
		{sessionUUID, []string{link, dir}, link},
		{sessionUUID, []string{"/elsewhere", "/nowhere"}, "/elsewhere"},
		{sessionUUID, nil, ""}, {uuid.NewString(), []string{dir}, ""}, {"../" + sessionUUID, []string{dir}, ""}, {"a-1", []string{dir}, ""},
	} {
		got, ok := b.Find(runner.Conversation{ID: tt.session}, tt.dirs)
		want := runner.Stored{Path: file, Size: int64(len(prompted)), Dir: tt.want}
		if tt.want == "" {
			want = runner.Stored{}
		}
		if got != want || ok != (tt.want != "") {
			t.Errorf("session %q in %q: got %+v, %v, want %+v", tt.session, tt.dirs, got, ok, want)
		}
	}
	queued := `{"type":"queue-operation"}` + "\n"
	must(t, os.WriteFile(file, []byte(queued), 0o600))
	if got, ok := b.Find(runner.Conversation{ID: sessionUUID}, []string{dir}); ok {
		t.Errorf("a transcript without a prompt: got %+v", got)
	}
	must(t, errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)))
	if got, ok := b.Find(runner.Conversation{ID: sessionUUID}, []string{dir}); ok {
		t.Errorf("a link: got %+v", got)
	}
}

// TestAGoneDirectoryStillNamesItsFolder: a worktree may be gone by the time that
// its conversation is stored, and not there yet when it is put back.
func TestAGoneDirectoryStillNamesItsFolder(t *testing.T) {
	b, dir, file := homeWith(t, sessionUUID, prompted)
	stored := filepath.Join(t.TempDir(), "stored")
	must(t, errors.Join(os.WriteFile(stored, []byte(prompted), 0o600), os.RemoveAll(dir), os.RemoveAll(filepath.Dir(file))))
	must(t, b.Place(runner.Conversation{ID: sessionUUID, Dir: dir}, stored))
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder that was made: got %v, %v, want mode 0700", info, err)
	}
	if got, ok := b.Find(runner.Conversation{ID: sessionUUID}, []string{"/elsewhere", dir}); !ok || got.Path != file || got.Dir != dir {
		t.Errorf("got %+v, %v, want %s of %s", got, ok, file, dir)
	}
}
