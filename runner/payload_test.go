package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// TestPayloadIsAllThatItsFileHolds, whatever is there before.
func TestPayloadIsAllThatItsFileHolds(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "1"), filepath.Join(dir, "other")
	assert.NilError(t, os.WriteFile(other, []byte("of somebody else"), 0o600))
	for _, left := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(path, "folder"), 0o700) },
		func() error { return errors.Join(os.Remove(path), os.Symlink(other, path)) },
	} {
		assert.NilError(t, left())
		assert.NilError(t, writePayload(ScriptOrder{PayloadFile: path, Payload: "payload"}))
		if got, err := os.ReadFile(path); err != nil || string(got) != "payload" {
			t.Errorf("got %q, %v", got, err)
		}
		if got, err := os.ReadFile(other); err != nil || string(got) != "of somebody else" {
			t.Errorf("a file that a link led to: got %q, %v, want it as it was", got, err)
		}
	}
}
