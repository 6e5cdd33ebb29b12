//go:build unix

package checkpoint_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
)

// TestPipesAreNotRead: a pipe in the place of a file is refused, and neither waited
// for nor taken for an empty file.
func TestPipesAreNotRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{-1, 0} {
		if _, _, err := tryWrite(t, with(checkpoint.Part{Name: "logs/x", Path: pipe, Size: size})); err == nil {
			t.Errorf("size %d: got no error", size)
		}
	}
}
