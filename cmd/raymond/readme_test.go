package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fences returns the fenced blocks of a document.
func fences(text string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// TestReadmeTestsAreTheOnesOfCI holds the README's second command to the one
// that CI runs.
func TestReadmeTestsAreTheOnesOfCI(t *testing.T) {
	m := regexp.MustCompile(`(?m)^(go test .*?)( \|\| failed=1)?$`).FindAllStringSubmatch(readText(t, ".ci/run"), -1)
	if len(m) != 1 {
		t.Fatalf("tests that .ci/run runs: got %q, want one command", m)
	}
	if blocks := fences(readText(t, "README.md")); !slices.Contains(blocks, m[0][1]+"\n") {
		t.Errorf("tests that .ci/run runs: got %q, want one of the commands of README.md: %q", m[0][1], blocks)
	}
}

// TestReadmeShowsWhatIsThere compares what README.md quotes with its source.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	blocks := fences(readText(t, "README.md"))
	quickstart, _, _ := strings.Cut(readText(t, "cmd/raymond/testdata/examples/quickstart.txt"), "main\n")
	for what, want := range map[string]string{
		"FINISH.md":                readText(t, "examples/plan-implement-review/FINISH.md"),
		"the result of quickstart": strings.TrimPrefix(quickstart, "stdout: "),
		"the first command":        "go run ./cmd/raymond run examples/quickstart\n",
	} {
		if !slices.Contains(blocks, want) {
			t.Errorf("README.md does not show %s: want the block\n%s", what, want)
		}
	}
}

func TestEveryExitCodeIsDocumented(t *testing.T) {
	text := readText(t, "docs/cli.md")
	for c, code := range exitCodes {
		row := fmt.Sprintf(`(?m)^\| %d\b.*\| .%s. \|`, code, c)
		if !regexp.MustCompile(row).MatchString(text) {
			t.Errorf("docs/cli.md, exit codes: got no row for %d, %s", code, c)
		}
	}
}

// TestLinksOfDocumentsLead finds links to files that are not there.
func TestLinksOfDocumentsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)`)
	documents := []string{"README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "examples/README.md"}
	for _, pattern := range []string{"docs/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got %q (%v), want some", pattern, found, err)
		}
		for _, f := range found {
			documents = append(documents, strings.TrimPrefix(filepath.ToSlash(f), "../../"))
		}
	}
	for _, d := range documents {
		for _, m := range link.FindAllStringSubmatch(readText(t, d), -1) {
			target := filepath.Join("../..", filepath.Dir(d), m[1])
			if !strings.Contains(m[1], "://") && !exists(target) {
				t.Errorf("%s links to %s: got no such file", d, m[1])
			}
		}
	}
}
