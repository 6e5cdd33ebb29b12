//go:build unix

package confine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestLinkTargetsAreReadable checks that linksIn returns links to files, such as /etc/resolv.conf on many
// machines, but no links to directories.
func TestLinkTargetsAreReadable(t *testing.T) {
	etc, run := t.TempDir(), t.TempDir()
	target := filepath.Join(run, "stub-resolv.conf")
	err := errors.Join(os.WriteFile(target, nil, 0o600), os.WriteFile(filepath.Join(etc, "hosts"), nil, 0o600),
		os.Symlink(target, filepath.Join(etc, "resolv.conf")), os.Symlink(run, filepath.Join(etc, "folder")), os.Symlink("/none", filepath.Join(etc, "gone")))
	assert.NilError(t, err)
	got, want := linksIn(etc), []string{filepath.Join(etc, "resolv.conf")}
	assert.Check(t, is.DeepEqual(got, want))
}
