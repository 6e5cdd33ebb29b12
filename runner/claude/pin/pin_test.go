package pin_test

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/runner/claude/pin"
)

// TestLockfilePinsEveryPackage holds the promise that an install brings the
// tested bytes and asks the source that npm is set up for.
func TestLockfilePinsEveryPackage(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(pin.CLI.Version()) {
		t.Fatalf("version: got %q, want an exact one", pin.CLI.Version())
	}
	data, err := fs.ReadFile(pin.CLI.Files, "package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name == "" {
			continue
		}
		if p.Version != pin.CLI.Version() || !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "" {
			t.Errorf("%s: got %+v, want version %s, a SHA-512 and no address", name, p, pin.CLI.Version())
		}
	}
}
