package installtest

import (
	"cmp"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
)

// CLI is a program of npm that tests drive in a pinned version, or in one that a variable of
// the environment names.
type CLI struct {
	Name    string // of its folders in the cache
	Package string
	Pinned  string // version
	Files   fs.FS  // package.json and package-lock.json of the pinned version
	Dir     string // where the two are in the repository, for who installs by hand
	// Var is the variable with another version, which has to be exact.
	Var string
}

// Install returns a folder whose node_modules holds the program. The first call on a machine
// installs it with npm into the user's cache folder; packages tested in parallel wait for each
// other. It ends the test when that does not work, naming the command to run by hand.
func (c CLI) Install(t testing.TB) string {
	t.Helper()
	version := cmp.Or(os.Getenv(c.Var), c.Pinned)
	n := NPM{Name: c.Name + "-" + version, Files: c.Files, Dir: c.Dir}
	if version != c.Pinned {
		// There is no lock file of it: what the registry holds under that version is installed.
		manifest := `{"private": true, "dependencies": {"` + c.Package + `": "` + version + `"}}`
		n.Files, n.ByHand = fstest.MapFS{"package.json": {Data: []byte(manifest)}}, "npm install --ignore-scripts "+c.Package+"@"+version
	}
	return n.Install(t)
}
