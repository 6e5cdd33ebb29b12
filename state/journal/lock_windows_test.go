package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"gotest.tools/v3/assert"
)

// TestWindowsRefuses checks two restrictions of Windows. They are the reasons why the holder of a lock is
// described in a separate file, and why the journal is not opened for appending. Wine lacks these
// restrictions, so this test is skipped there.
func TestWindowsRefuses(t *testing.T) {
	t.Run("writing to a locked file by another handle", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "lock")
		lock := flock.New(path)
		if ok, err := lock.TryLock(); err != nil || !ok {
			t.Fatalf("lock: got %v, %v", ok, err)
		}
		defer lock.Unlock()
		if err := os.WriteFile(path, []byte("holder"), 0o600); err == nil {
			t.Error("written, want a lock violation")
		}
	})
	t.Run("cutting off a file opened for appending", func(t *testing.T) {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		assert.NilError(t, err)
		defer f.Close()
		if err := f.Truncate(0); err == nil {
			t.Error("cut off, want: access is denied")
		}
	})
}
