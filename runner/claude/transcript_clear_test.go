//go:build unix

package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// TestClearRemovesDirectoriesOfTheSession checks that Clear also removes the session's directories, for
// every working directory. If the transcript has changed, nothing must be removed.
func TestClearRemovesDirectoriesOfTheSession(t *testing.T) {
	for _, isChanged := range []bool{false, true} {
		b, _, file := homeWith(t, sessionID, prompted)
		beside := filepath.Join(filepath.Dir(filepath.Dir(file)), "elsewhere", sessionID, "tool-results", "x")
		write(t, beside, "x")
		mark, err := transcripts.FingerprintOf(file)
		assert.NilError(t, err)
		if isChanged {
			assert.NilError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Second)))
		}
		err = b.Clear(runner.Conversation{ID: sessionID}, &mark)
		_, gone := os.Lstat(beside)
		assert.Check(t, err == nil && (gone == nil) == isChanged, "changed: %v: got %v, the folder: %v", isChanged, err, gone)
	}
}
