package runner

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/protocol"
)

// TestPayloadFileHasOnlyPayload checks that the payload replaces whatever is at the path of its
// file, and that a link there is not followed.
func TestPayloadFileHasOnlyPayload(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "1"), filepath.Join(dir, "other")
	assert.NilError(t, os.WriteFile(other, []byte("content of another file"), 0o600))
	var got string
	w := worker{cfg: &Config{Scripts: backendFunc(func(o Order) {
		data, err := os.ReadFile(o.Script.PayloadFile)
		assert.NilError(t, err)
		got = string(data)
	})}}
	for _, left := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(path, "folder"), 0o700) },
		func() error { return os.Symlink(other, path) },
	} {
		assert.NilError(t, left())
		_, err := w.invoke(t.Context(), Order{Kind: protocol.Script, Dir: dir, Script: ScriptOrder{Path: other, PayloadFile: path, Files: map[string]string{path: "payload"}}}, nil)
		assert.NilError(t, err)
		assert.Equal(t, got, "payload")
		if got, err := os.ReadFile(other); err != nil || string(got) != "content of another file" {
			t.Errorf("a file that a link led to: got %q, %v, want it as it was", got, err)
		}
	}
}
