package installtest

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

//go:embed package.json package-lock.json
var nodeFiles embed.FS

// Node returns the path of the program node in the major version that action.yml names. GitHub runs the
// action with that version, so tests don't use the node of the machine. The first call on a machine
// installs it with npm, which works on Linux and Windows. On other systems the test fails.
func Node(t testing.TB) string {
	t.Helper()
	dir := NPM{Name: "node", Files: nodeFiles, Dir: "internal/installtest"}.Install(t)
	found, err := fs.Glob(os.DirFS(dir), "node_modules/node-*/bin/node*")
	if err != nil || len(found) != 1 {
		t.Fatalf("programs of node below %s: got %q, %v, want one", dir, found, err)
	}
	return filepath.Join(dir, filepath.FromSlash(found[0]))
}
