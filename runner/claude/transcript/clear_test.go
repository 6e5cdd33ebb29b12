//go:build unix

package transcript

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

const talked = "0a0b0c0d-0000-4000-8000-00000000000a"

// TestClearRemovesOnlyTheSession: its transcript and the folder beside it, for every
// directory; and with a mark only what that is of.
func TestClearRemovesOnlyTheSession(t *testing.T) {
	other := "0a0b0c0d-0000-4000-8000-00000000000b"
	for _, c := range []struct {
		name   string
		change func(file string)
		marked bool
		stays  bool
	}{
		{"whatever it is", nil, false, false},
		{"as it was", nil, true, false},
		{"spoken in since", func(f string) { write(t, f, prompted+"more") }, true, true},
		{"written again as it was", func(f string) {
			write(t, f, prompted)
			must(t, os.Chtimes(f, time.Time{}, time.Now().Add(time.Second)))
		}, true, true},
	} {
		b, _, file := home(t, talked, prompted)
		kept := filepath.Join(filepath.Dir(file), other+".jsonl")
		beside := filepath.Join(filepath.Dir(filepath.Dir(file)), "elsewhere", talked, "tool-results", "x")
		write(t, kept, prompted)
		write(t, beside, "x")
		var mark *runner.Mark
		if c.marked {
			m, err := transcripts.MarkOf(file)
			must(t, err)
			mark = &m
		}
		if c.change != nil {
			c.change(file)
		}
		if err := b.Clear(talked, mark); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if isThere(file) != c.stays || isThere(beside) != c.stays || !isThere(kept) {
			t.Errorf("%s: after Clear: transcript %v, folder %v, another session %v; want %v, %v, true", c.name, isThere(file), isThere(beside), isThere(kept), c.stays, c.stays)
		}
	}
}

// TestClearFollowsNoLink: what an agent has put in the place of files and folders is
// left alone, and so is what it leads to.
func TestClearFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, talked+".jsonl")
	folder := filepath.Join(outside, talked, "x")
	write(t, victim, prompted)
	write(t, folder, "x")
	link := func(t *testing.T, to, from string) {
		t.Helper()
		must(t, os.RemoveAll(from))
		must(t, os.Symlink(to, from))
	}
	for name, put := range map[string]func(t *testing.T, file string){
		"file": func(t *testing.T, file string) { link(t, victim, file) },
		"folder": func(t *testing.T, file string) {
			link(t, filepath.Dir(folder), filepath.Join(filepath.Dir(file), talked))
		},
		"slug":     func(t *testing.T, file string) { link(t, outside, filepath.Dir(file)) },
		"projects": func(t *testing.T, file string) { link(t, filepath.Dir(outside), filepath.Dir(filepath.Dir(file))) },
		"pipe": func(t *testing.T, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
			if _, err := transcripts.MarkOf(file); err == nil {
				t.Error("mark of a pipe: got one, want an error")
			}
		},
	} {
		for _, mark := range []*runner.Mark{nil, {}} {
			b, _, file := home(t, talked, prompted)
			put(t, file)
			_ = b.Clear(talked, mark) // an error is as good
			if !isThere(victim) || !isThere(folder) {
				t.Fatalf("%s: what a link leads to is gone", name)
			}
			if name == "pipe" && !isThere(file) {
				t.Error("a pipe is gone, want it left alone")
			}
		}
	}
	if err := (Folder{}).Clear("../x", nil); err == nil {
		t.Error("session with a path for an id: got no error")
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
