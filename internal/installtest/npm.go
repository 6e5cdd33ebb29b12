package installtest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"testing"

	"gotest.tools/v3/assert"
)

// NPM is a set of npm packages at pinned versions.
type NPM struct {
	Name  string
	Files fs.FS  // contains package.json and, unless ByHand is set, package-lock.json
	Dir   string // directory of these files in the repository, for a message about installing by hand
	// ByHand is the command that installs the packages by hand if they have no lock file. Then package.json
	// contains their exact versions. If the packages have a lock file, ByHand is empty.
	ByHand string
}

// Install returns a directory whose node_modules contains the packages and their dependencies. It runs no
// install scripts. If npm fails, the test fails with a message that contains the command to run by hand.
func (n NPM) Install(t testing.TB) string {
	t.Helper()
	pins, byHand := "package-lock.json", "cd "+n.Dir+" && npm ci --ignore-scripts"
	if n.ByHand != "" {
		pins, byHand = "package.json", n.ByHand
	}
	data, err := fs.ReadFile(n.Files, pins)
	assert.NilError(t, err)
	sum := sha256.Sum256(data)
	dir, err := n.installOnce(t.Context(), n.Name+"-"+hex.EncodeToString(sum[:6]))
	assert.NilError(t, err, "install %s:\nby hand: %s", n.Name, byHand)
	return dir
}
