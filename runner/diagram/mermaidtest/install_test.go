package mermaidtest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// TestLockfilePinsEveryPackage holds the promise that an install brings the same
// bytes everywhere and asks whichever registry npm is set up for.
func TestLockfilePinsEveryPackage(t *testing.T) {
	data, err := Files.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 10 {
		t.Fatalf("packages: got %d, want Mermaid and all it needs", len(lock.Packages))
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+`)
	for name, p := range lock.Packages {
		if name != "" && (!exact.MatchString(p.Version) || !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "") {
			t.Errorf("%s: got %+v, want an exact version, a SHA-512 and no address", name, p)
		}
	}
}
