//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// soon lets the test fail if open blocks, for example because it opens a pipe without a writer.
func soon(t *testing.T, what string, open func()) {
	t.Helper()
	done := make(chan bool)
	go func() { open(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s: opening blocks", what)
	}
}

// pipe creates a named pipe and returns its path.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	assert.NilError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// link creates a symbolic link and returns its path.
func link(t *testing.T, to string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "link")
	assert.NilError(t, os.Symlink(to, path))
	return path
}

func TestPipesDevicesAndLinksAreRefused(t *testing.T) {
	victim := place(t, "secret")
	tests := map[string]struct {
		path string
		want []string // names of the functions that open the file
	}{
		"folder":         {t.TempDir(), nil},
		"pipe":           {pipe(t), nil},
		"device":         {os.DevNull, nil},
		"link to a pipe": {link(t, pipe(t)), nil},
		"link to a file": {link(t, victim), []string{"OpenTarget", "ReadTarget"}},
	}
	for name, test := range tests {
		soon(t, name, func() {
			got := openings(test.path)
			assert.Check(t, is.DeepEqual(got, test.want), "%s: opened by %q", name, got)
		})
	}
	got, err := os.ReadFile(victim)
	assert.Check(t, is.Equal(string(got), "secret"), "the file behind the link: got %q, %v", got, err)
}

// TestNothingIsCreatedThroughALink checks that a link without a target doesn't make OpenFile create a file
// there.
func TestNothingIsCreatedThroughALink(t *testing.T) {
	target := filepath.Join(t.TempDir(), "new")
	f, _, err := OpenFile(link(t, target), os.O_WRONLY|os.O_CREATE, 0o600)
	assert.Check(t, is.ErrorIs(err, ErrNotRegular), "got %v, %v, want %v", f, err, ErrNotRegular)
	_, err = os.Lstat(target)
	assert.Check(t, is.ErrorIs(err, fs.ErrNotExist), "behind the link")
}

// busy is a folder that calls the function before when a file is about to be opened. With it, a test can
// replace the file.
type busy struct {
	machine
	before  func(path string)
	without int // flags that have no effect, as on a system that lacks them
}

func (b busy) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	b.before(name)
	return b.machine.OpenFile(name, flag&^b.without, perm)
}

// TestReplacedFileIsRefused checks that open detects a file that was replaced after the first check, even if
// the system lacks the flag dontFollow.
func TestReplacedFileIsRefused(t *testing.T) {
	another := place(t, "another")
	others := map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path string) error { return os.Symlink(another, path) },
	}
	flags := map[string]int{"read": os.O_RDONLY, "create": os.O_RDWR | os.O_CREATE}
	for what, put := range others {
		for how, flag := range flags {
			path := place(t, "seen")
			from := busy{before: func(path string) {
				// The old file is renamed, because a new file could get the inode number of a removed one.
				assert.Check(t, errors.Join(os.Rename(path, path+".old"), put(path)))
			}, without: dontFollow}
			soon(t, what, func() {
				f, _, err := open(from, path, flag, 0o600)
				assert.Check(t, is.ErrorIs(err, ErrNotRegular), "%s, %s: got %v, %v, want %v", what, how, f, err, ErrNotRegular)
			})
		}
	}
}

// TestNewLinkIsNotFollowed checks that open doesn't follow a link that was created just before a new file.
// If no file existed before, only the flag dontFollow prevents that.
func TestNewLinkIsNotFollowed(t *testing.T) {
	path, victim := filepath.Join(t.TempDir(), "file"), place(t, "secret")
	from := busy{before: func(string) { _ = os.Symlink(victim, path) }}
	if f, _, err := open(from, path, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
		t.Errorf("got %v, want an error", f.Name())
	}
}
