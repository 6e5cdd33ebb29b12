package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
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
		"REVISE.md":                readText(t, "examples/review-loop/REVISE.md"),
		"the result of quickstart": strings.TrimPrefix(quickstart, "stdout: "),
		"the first command":        "go run ./cmd/raymond run examples/quickstart\n",
	} {
		if !slices.Contains(blocks, want) {
			t.Errorf("README.md does not show %s: want the block\n%s", what, want)
		}
	}
}

// TestReadmeShowsARun compares the lines of a run in README.md with a simulation of
// the example that they are of. A … there stands for any lines.
func TestReadmeShowsARun(t *testing.T) {
	blocks := fences(readText(t, "README.md"))
	i := slices.IndexFunc(blocks, func(b string) bool { return strings.HasPrefix(b, "main ") })
	if i < 0 {
		t.Fatal("README.md: got no block that begins with a line of main, want one")
	}
	s := exampleSite(t)
	out, err := s.shell("raymond simulate examples/review-loop --replies examples/review-loop/replies.yaml")
	shown := regexp.MustCompile(`(?m)^…$\n`).ReplaceAllString(regexp.QuoteMeta(blocks[i]), `(?:.*\n)*?`)
	if err != nil || !regexp.MustCompile(shown).MatchString(out) {
		t.Errorf("README.md shows the run\n%s\ngot %v and\n%s", blocks[i], err, out)
	}
}

// TestReadmeIsShort: somebody decides in two minutes.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(readText(t, "README.md"), "\n"); n > 220 {
		t.Errorf("README.md: got %d lines, want at most 220", n)
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

// place is a link of a document, or a picture: a file and a heading in it.
var place = regexp.MustCompile(`(?:\]\(|(?:src|srcset)=")([^)#"\s]*)(#[^)"\s]*)?[)"]`)

// TestLinksOfDocumentsLead finds links to files and headings, and pictures, that are
// not there.
func TestLinksOfDocumentsLead(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range place.FindAllStringSubmatch(readText(t, d), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(d), m[1])
			if m[1] == "" {
				target = d
			}
			switch {
			case !sitetest.Exists(filepath.Join("../..", target)):
				t.Errorf("%s links to %s: got no such file", d, m[1])
			case m[2] != "" && !slices.Contains(anchors(readText(t, target)), m[2]):
				t.Errorf("%s links to %s%s: got no such heading there", d, m[1], m[2])
			}
		}
	}
}

// documents are all pages with links, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()
	return append(pages(t), "CHANGELOG.md")
}

// anchors are how the headings of a page are linked to.
func anchors(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
