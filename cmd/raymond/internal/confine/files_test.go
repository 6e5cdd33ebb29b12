//go:build unix

package confine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// TestWhatLinksLeadToIsReadable: on many machines resolv.conf is a link from /etc to a file elsewhere. A link to a folder opens
// nothing.
func TestWhatLinksLeadToIsReadable(t *testing.T) {
	etc, run := t.TempDir(), t.TempDir()
	target := filepath.Join(run, "stub-resolv.conf")
	err := errors.Join(os.WriteFile(target, nil, 0o600), os.WriteFile(filepath.Join(etc, "hosts"), nil, 0o600),
		os.Symlink(target, filepath.Join(etc, "resolv.conf")), os.Symlink(run, filepath.Join(etc, "folder")), os.Symlink("/none", filepath.Join(etc, "gone")))
	assert.NilError(t, err)
	if got, want := linksIn(etc), []string{filepath.Join(etc, "resolv.conf")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
