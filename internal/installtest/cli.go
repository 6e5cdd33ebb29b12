package installtest

import (
	"cmp"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
)

// CLI is an npm program that tests drive, in a pinned version or in the version that an environment
// variable names.
type CLI struct {
	Name    string // of its folders in the cache
	Package string
	Pinned  string // version
	Files   fs.FS  // package.json and package-lock.json of the pinned version
	Dir     string // where the two are in the repository, for who installs by hand
	// Var is the environment variable that selects another version, which must be an exact one.
	Var string
}

// Install returns a folder whose node_modules contains the program. The first call on a machine
// installs it with npm in the user's cache folder; tests running in parallel wait for each other. If
// npm fails, the test fails and names the command to run by hand.
func (c CLI) Install(t testing.TB) string {
	t.Helper()
	version := cmp.Or(os.Getenv(c.Var), c.Pinned)
	n := NPM{Name: c.Name + "-" + version, Files: c.Files, Dir: c.Dir}
	if version != c.Pinned {
		// This version has no lock file in the repository, so npm resolves it from the registry.
		manifest := `{"private": true, "dependencies": {"` + c.Package + `": "` + version + `"}}`
		n.Files, n.ByHand = fstest.MapFS{"package.json": {Data: []byte(manifest)}}, "npm install --ignore-scripts "+c.Package+"@"+version
	}
	return n.Install(t)
}
