// Package nodetest pins the node that runs the action on GitHub, so that tests
// don't depend on which one a machine has. It is for tests.
package nodetest

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

//go:embed package.json package-lock.json
var files embed.FS

var pinned = installtest.NPM{Name: "node", Files: files, Dir: "internal/nodetest"}

// Install returns the path of the pinned node, of the major version that
// action.yml asks for. The first call on a machine installs it with npm, which
// has it for Linux and for Windows; elsewhere the test ends.
func Install(t testing.TB) string {
	t.Helper()
	dir := pinned.Install(t)
	found, err := fs.Glob(os.DirFS(dir), "node_modules/node-*/bin/node*")
	if err != nil || len(found) != 1 {
		t.Fatalf("programs of node below %s: got %q, %v, want one", dir, found, err)
	}
	return filepath.Join(dir, filepath.FromSlash(found[0]))
}
