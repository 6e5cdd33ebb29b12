package installtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"gotest.tools/v3/assert"
)

// CLI is a program of npm that tests drive in a pinned version, or in one that a variable of
// the environment names.
type CLI struct {
	Name    string // of its folders in the cache
	Package string
	Pinned  string // version
	Files   fs.FS  // package.json and package-lock.json of the pinned version
	Dir     string // where the two are in the repository, for who installs by hand
	// Var is the variable with the version: one like "1.2.3", "newest" for the newest on the
	// registry, "" for the pinned one.
	Var string
}

// Install returns a folder whose node_modules holds the program. The first call on a machine
// installs it with npm into the user's cache folder; packages tested in parallel wait for each
// other. It ends the test when that does not work, naming the command to run by hand.
func (c CLI) Install(t testing.TB) string {
	t.Helper()
	version := c.Version(t)
	n := NPM{Name: c.Name + "-" + version, Files: c.Files, Dir: c.Dir}
	if version != c.Pinned {
		// There is no lock file of it: what the registry holds under that version is installed.
		manifest := `{"private": true, "dependencies": {"` + c.Package + `": "` + version + `"}}`
		n.Files, n.ByHand = fstest.MapFS{"package.json": {Data: []byte(manifest)}}, "npm install --ignore-scripts "+c.Package+"@"+version
	}
	return n.Install(t)
}

var plainVersion = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// Version returns the version that the tests drive.
func (c CLI) Version(t testing.TB) string {
	t.Helper()
	switch v := os.Getenv(c.Var); {
	case v == "":
		return c.Pinned
	case v == "newest":
		found, err := newest(c.Package)
		assert.NilError(t, err)
		return found
	case plainVersion.MatchString(v):
		return v
	default:
		t.Fatalf("%s=%q: want an exact version such as %s, or newest", c.Var, v, c.Pinned)
		return ""
	}
}

// asked are the newest versions by package, of which the registry is asked once.
var asked = struct {
	mu       sync.Mutex
	versions map[string]string
}{versions: map[string]string{}}

// newest asks the registry for the newest version of a package.
func newest(pkg string) (string, error) {
	asked.mu.Lock()
	defer asked.mu.Unlock()
	if v := asked.versions[pkg]; v != "" {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args := []string{"view", pkg, "dist-tags.latest"}
	out, err := exec.CommandContext(ctx, "npm", args...).Output()
	v := strings.TrimSpace(string(out))
	if err == nil && !plainVersion.MatchString(v) {
		err = fmt.Errorf("got %q", out)
	}
	if err != nil {
		return "", fmt.Errorf("the newest version of %s: %w\nby hand: npm %s", pkg, err, strings.Join(args, " "))
	}
	asked.versions[pkg] = v
	return v, nil
}
