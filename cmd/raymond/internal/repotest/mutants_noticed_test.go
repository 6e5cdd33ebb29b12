//go:build mutants

package repotest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestEachMutantIsNoticed checks that with each mutant, the tests of its package fail. It doesn't check that they pass without
// a mutant, because CI runs all tests anyway.
func TestEachMutantIsNoticed(t *testing.T) {
	t.Chdir("../../../..")
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.pkg, "/", ".")+" "+m.function, func(t *testing.T) {
			path, text, err := m.change()
			assert.NilError(t, err)
			if path, err = filepath.Abs(path); err != nil {
				t.Fatal(err)
			}
			changed, overlay := filepath.Join(t.TempDir(), filepath.Base(path)), filepath.Join(t.TempDir(), "overlay.json")
			list, _ := json.Marshal(map[string]map[string]string{"Replace": {path: changed}}) // never fails
			for name, data := range map[string][]byte{changed: text, overlay: list} {
				assert.NilError(t, os.WriteFile(name, data, 0o600))
			}
			out, err := exec.Command("go", "test", "-vet=off", "-count=1", "-failfast", "-timeout=3m", "-overlay="+overlay, "./"+m.pkg).CombinedOutput()
			assert.Check(t, err != nil && !strings.Contains(string(out), "[build failed]"), "got %v, want a test that fails\n%s", err, out)
		})
	}
}
