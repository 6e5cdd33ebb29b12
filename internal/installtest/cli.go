package installtest

import (
	"cmp"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
)

// CLI is a program from npm that tests run. It has a pinned version, and an environment variable can select
// another.
type CLI struct {
	Name    string // part of the names of its directories in the cache
	Package string
	Pinned  string // the pinned version
	Files   fs.FS  // package.json and package-lock.json of the pinned version
	Dir     string // directory of the two files in the repository, for a message about installing by hand
	// Var is the environment variable that selects another version, which must be an exact version.
	Var string
}

// Install returns a directory whose node_modules contains the program. The first call on a machine installs
// the program with npm in the user's cache directory. Tests that run in parallel wait for the installation.
// If npm fails, the test fails with a message that contains the command to run by hand.
func (c CLI) Install(t testing.TB) string {
	t.Helper()
	version := cmp.Or(os.Getenv(c.Var), c.Pinned)
	n := NPM{Name: c.Name + "-" + version, Files: c.Files, Dir: c.Dir}
	if version != c.Pinned {
		// The repository contains no lock file for this version, so npm resolves the dependencies from the
		// registry.
		manifest := `{"private": true, "dependencies": {"` + c.Package + `": "` + version + `"}}`
		n.Files, n.ByHand = fstest.MapFS{"package.json": {Data: []byte(manifest)}}, "npm install --ignore-scripts "+c.Package+"@"+version
	}
	return n.Install(t)
}
