//go:build world

package page

import (
	"embed"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

var pages = flag.String("pages", "", "write the pages of the fixtures to this folder, for a person to look at")

//go:embed testdata/chromium
var clicking embed.FS

// TestInChromium opens the pages of the fixtures in a browser and clicks through them. It saves
// screenshots in the folder that is set with -pages.
func TestInChromium(t *testing.T) {
	files, err := fs.Sub(clicking, "testdata/chromium")
	assert.NilError(t, err)
	npm := installtest.NPM{Name: "page", Files: files, Dir: "runner/insight/page/testdata/chromium"}
	dir := *pages
	if dir == "" {
		dir = t.TempDir()
	}
	for name, report := range fixtures {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name+".html"), []byte(render(t, report())), 0o600))
	}
	script, err := filepath.Abs("testdata/chromium/click.mjs")
	assert.NilError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", script, browser(t), dir)
	cmd.Dir = npm.Install(t)
	out, err := cmd.CombinedOutput()
	assert.Check(t, err, "%v\n%s", err, out)
}

// browser returns the path of a Chromium browser.
func browser(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("RAYMOND_TEST_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium in PATH: install it (Debian: apt-get install chromium), or set RAYMOND_TEST_CHROMIUM")
	return ""
}
