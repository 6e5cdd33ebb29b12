package workflowtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "give actions in examples and pages the versions of .github/workflows")

// at is where a file of the repository is.
func at(name string) string { return filepath.Join("../../../..", filepath.FromSlash(name)) }

// shown are the files that have workflows for others to copy.
var shown = []string{"examples/*/workflow.yml", "README.md", "docs/*.md", "examples/*/README.md"}

// glob returns the files of the repository that match one of the patterns, each of which
// matches some.
func glob(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(at(p))
		if err != nil || len(found) == 0 {
			t.Fatalf("files %s: got %q, %v, want some", p, found, err)
		}
		for _, path := range found {
			name, _ := filepath.Rel(at(""), path)
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(at(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var pin = regexp.MustCompile(`uses: (actions/[\w./-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)`)

// TestPinsAreTheSameEverywhere: the updates of dependabot reach .github/workflows
// alone. -update takes their versions over into examples and pages.
func TestPinsAreTheSameEverywhere(t *testing.T) {
	pins := map[string]string{}
	for _, name := range glob(t, ".github/workflows/*.yml") {
		for _, m := range pin.FindAllStringSubmatch(read(t, name), -1) {
			pins[m[1]] = m[2]
		}
	}
	for _, name := range glob(t, append(shown, ".github/workflows/*.yml")...) {
		old := read(t, name)
		now := pin.ReplaceAllStringFunc(old, func(use string) string {
			m := pin.FindStringSubmatch(use)
			if pins[m[1]] == "" {
				return use
			}
			return "uses: " + m[1] + "@" + pins[m[1]]
		})
		if now == old {
			continue
		}
		if !*update {
			t.Errorf("%s: got other versions of actions than in .github/workflows, want the same (-update)", name)
		} else if err := os.WriteFile(at(name), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
