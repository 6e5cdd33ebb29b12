package repotest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestLockfilesPinEveryPackage: each names for every package an exact version and a SHA-512, and no
// address. An install then brings the same bytes everywhere, from wherever npm is set up to ask.
func TestLockfilesPinEveryPackage(t *testing.T) {
	t.Parallel()
	exact, files := regexp.MustCompile(`^\d+\.\d+\.\d+`), 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case d.Name() != "package-lock.json":
			return nil
		}
		files++
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity, Resolved string }
		}
		if err := json.Unmarshal(data, &lock); err != nil || len(lock.Packages) < 2 {
			t.Errorf("%s: got %d packages (%v), want some", name, len(lock.Packages), err)
		}
		for pkg, p := range lock.Packages {
			if pkg != "" && (!exact.MatchString(p.Version) || !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "") {
				t.Errorf("%s: %s: got %+v, want an exact version, a SHA-512 and no address", name, pkg, p)
			}
		}
		return nil
	})
	assert.Check(t, err, "lock files")
	assert.Check(t, files >= 8, "lock files: got %d (%v), want at least 8", files, err)
}
