package repotest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fences returns the texts of the fenced blocks of a page.
func fences(text string) []string {
	var texts []string
	for _, b := range blocks(text) {
		texts = append(texts, b.text)
	}
	return texts
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
	out, err := exampleFolder(t).shell("raymond simulate examples/review-loop --replies examples/review-loop/replies.yaml")
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

// TestEveryExitCodeIsDocumented with the words of the program.
func TestEveryExitCodeIsDocumented(t *testing.T) {
	text := readText(t, "docs/cli.md")
	for _, c := range exitCodes(t) {
		row := fmt.Sprintf("| %s | `%s` | %s |\n", c.code, c.class, c.meaning)
		if c.class != "" && !strings.Contains(text, row) {
			t.Errorf("docs/cli.md, exit codes: got no row %s", row)
		}
	}
}

// place is a link of a document, or a picture: a file and a heading in it.
var place = regexp.MustCompile(`(?:\]\(|(?:src|srcset)=")([^)#"\s]*)(#[^)"\s]*)?[)"]`)

// TestLinksOfDocumentsLead finds links to files and headings, and pictures, that are
// not there.
func TestLinksOfDocumentsLead(t *testing.T) {
	for _, d := range append(pages(t), "CHANGELOG.md") {
		for _, m := range place.FindAllStringSubmatch(readText(t, d), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := path.Join(path.Dir(d), m[1])
			if m[1] == "" {
				target = d
			}
			switch {
			case !exists(target):
				t.Errorf("%s links to %s: got no such file", d, m[1])
			case m[2] != "" && !slices.Contains(anchors(readText(t, target)), m[2]):
				t.Errorf("%s links to %s%s: got no such heading there", d, m[1], m[2])
			}
		}
	}
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
