package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../../.."

// TestMutantsStillApply: each text that a mutant changes is in its file exactly once,
// each test that is to notice it is in its package, and no two have one name.
func TestMutantsStillApply(t *testing.T) {
	t.Parallel()
	mutants, err := readTables()
	if err != nil || len(mutants) < 60 {
		t.Fatalf("mutants: got %d (%v), want at least 60", len(mutants), err)
	}
	seen, tests := map[string]bool{}, map[string]string{}
	for _, m := range mutants {
		if seen[m.name] {
			t.Errorf("mutant %s: there are two of this name", m.name)
		}
		seen[m.name] = true
		if _, err := m.apply(root); err != nil {
			t.Errorf("mutant %s: %v", m.name, err)
		}
		for _, r := range m.tests {
			if tests[r.pkg] == "" {
				tests[r.pkg] = testsOf(t, r.pkg)
			}
			for _, name := range r.names {
				if !strings.Contains(tests[r.pkg], "\nfunc "+name+"(") {
					t.Errorf("mutant %s: got no test %s in %s", m.name, name, r.pkg)
				}
			}
		}
	}
}

// testsOf is the source of all tests of a package.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("tests of %s: got %q (%v), want some", pkg, files, err)
	}
	var all strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
