package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/runner"
)

const sessionUUID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// TestTranscriptOfASession: the file of the likeliest directory that has one, else
// any; never one without a prompt.
func TestTranscriptOfASession(t *testing.T) {
	b, dir, file := home(t, sessionUUID, prompted)
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
		got, ok := b.Find(tt.session, tt.dirs)
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
	if got, ok := b.Find(sessionUUID, []string{dir}); ok {
		t.Errorf("a transcript without a prompt: got %+v", got)
	}
	must(t, errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)))
	if got, ok := b.Find(sessionUUID, []string{dir}); ok {
		t.Errorf("a link: got %+v", got)
	}
}

// TestAGoneDirectoryStillNamesItsFolder: a worktree may be gone by the time that
// its conversation is stored, and not there yet when it is put back.
func TestAGoneDirectoryStillNamesItsFolder(t *testing.T) {
	b, dir, file := home(t, sessionUUID, prompted)
	stored := filepath.Join(t.TempDir(), "stored")
	must(t, errors.Join(os.WriteFile(stored, []byte(prompted), 0o600), os.RemoveAll(dir), os.RemoveAll(filepath.Dir(file))))
	must(t, b.Place(sessionUUID, dir, stored))
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder that was made: got %v, %v, want mode 0700", info, err)
	}
	if got, ok := b.Find(sessionUUID, []string{"/elsewhere", dir}); !ok || got.Path != file || got.Dir != dir {
		t.Errorf("got %+v, %v, want %s of %s", got, ok, file, dir)
	}
}

// TestPlace: what was there before counts for nothing, be it longer, a link or an
// old file, and nothing but the one file is left.
func TestPlace(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	old := time.Now().Add(-40 * 24 * time.Hour)
	for name, before := range map[string]func(file string) error{
		"nothing":     os.Remove,
		"longer":      func(file string) error { return os.WriteFile(file, []byte(prompted+prompted), 0o644) },
		"same, older": func(file string) error { return os.Chtimes(file, old, old) },
		"a link": func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(victim, []byte("kept"), 0o600), os.Symlink(victim, file))
		},
	} {
		b, dir, file := home(t, sessionUUID, prompted)
		stored := filepath.Join(t.TempDir(), "stored")
		must(t, errors.Join(before(file), os.WriteFile(stored, []byte(prompted), 0o644), os.Chtimes(stored, old, old)))
		start := time.Now().Add(-time.Minute)
		if err := b.Place(sessionUUID, dir, stored); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(file)
		info, lerr := os.Lstat(file)
		if err := errors.Join(err, lerr); err != nil || string(got) != prompted {
			t.Fatalf("%s: got %q, %v, want %q", name, got, err, prompted)
		}
		if info.Mode() != 0o600 || info.ModTime().Before(start) {
			t.Errorf("%s: got mode %v, time %v, want a regular file, 0600, of now", name, info.Mode(), info.ModTime())
		}
		if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
			t.Errorf("%s: got %v, want the transcript alone", name, left)
		}
	}
	if kept, err := os.ReadFile(victim); string(kept) != "kept" {
		t.Errorf("what the link pointed at: got %q, %v", kept, err)
	}
}

// TestPlaceRefuses: ids that are paths, links in the place of folders, sources that
// are no files. Nothing is written anywhere then.
func TestPlaceRefuses(t *testing.T) {
	outside := t.TempDir()
	stored := filepath.Join(t.TempDir(), "stored")
	must(t, os.WriteFile(stored, []byte(prompted), 0o600))
	instead := func(path string) error { return errors.Join(os.RemoveAll(path), os.Symlink(outside, path)) }
	for name, tt := range map[string]struct {
		session string
		change  func(folder string) error
		from    string
	}{
		"no UUID":           {"a-1", nil, stored},
		"upper case":        {strings.ToUpper(sessionUUID), nil, stored},
		"a path":            {"../" + sessionUUID, nil, stored},
		"no source":         {sessionUUID, nil, stored + "s"},
		"a folder":          {sessionUUID, nil, outside},
		"slug is a link":    {sessionUUID, instead, stored},
		"slug is a file":    {sessionUUID, func(p string) error { return errors.Join(os.RemoveAll(p), os.WriteFile(p, nil, 0o600)) }, stored},
		"projects is one":   {sessionUUID, func(p string) error { return instead(filepath.Dir(p)) }, stored},
		"file is a folder":  {sessionUUID, func(p string) error { return os.MkdirAll(filepath.Join(p, sessionUUID+".jsonl", "x"), 0o700) }, stored},
		"slug links inside": {sessionUUID, func(p string) error { return errors.Join(os.RemoveAll(p), os.Symlink(".", p)) }, stored},
	} {
		b, dir, file := home(t, "a-1", prompted)
		if tt.change != nil {
			must(t, tt.change(filepath.Dir(file)))
		}
		if err := b.Place(tt.session, dir, tt.from); err == nil {
			t.Errorf("%s: got no error", name)
		}
		found, err := filepath.Glob(filepath.Join(outside, "*"))
		if err != nil || len(found) > 0 {
			t.Errorf("%s: outside: got %q, %v", name, found, err)
		}
		if tmp, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(tmp) > 0 {
			t.Errorf("%s: left over: %q", name, tmp)
		}
	}
	b, dir, file := home(t, "a-1", prompted)
	must(t, os.WriteFile(stored, []byte(`{"type":"queue-operation"}`+"\n"), 0o600))
	if err := b.Place(sessionUUID, dir, stored); err != nil {
		t.Errorf("a transcript without a prompt: got %v, want none", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("a transcript without a prompt: got %v, want it not to be put in place", left)
	}
}
