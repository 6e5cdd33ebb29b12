package repotest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// part is a piece of a page that is made of something else.
var part = regexp.MustCompile(`(?s)<!-- (file|by commit): (\S+) -->\n.*?<!-- end -->`)

// TestPartsOfPagesAreWhatTheyShow: workflow files in pages are those of the
// examples, and scripts those that are tested. -update-docs rewrites them.
func TestPartsOfPagesAreWhatTheyShow(t *testing.T) {
	parts := map[string]int{}
	for _, page := range pages(t) {
		got := readText(t, page)
		want := part.ReplaceAllStringFunc(got, func(old string) string {
			m := part.FindStringSubmatch(old)
			parts[m[1]]++
			text := readText(t, m[2])
			if m[1] == "by commit" {
				text = byCommit(t, text)
			}
			form := "yaml"
			if strings.HasSuffix(m[2], ".mjs") {
				form = "js"
			}
			return fmt.Sprintf("<!-- %s: %s -->\n\n```%s\n%s```\n\n<!-- end -->", m[1], m[2], form, text)
		})
		if *updateDocs && got != want {
			rewrite(t, page, want)
			got = want
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s: a part is not what it shows; go test ./cmd/raymond/internal/repotest -run Parts -update-docs rewrites it (-page +source):\n%s", page, d)
		}
	}
	if parts["by commit"] != 1 || parts["file"] < 2 {
		t.Errorf("parts of pages: got %v, want one by commit and two files", parts)
	}
}

var setupGo = regexp.MustCompile(`uses: actions/setup-go@[0-9a-f]{40} # v\S+`)

// byCommit is a workflow file with the action by its commit, which ships no program:
// a step before it installs Go, in the version that go.mod asks for.
func byCommit(t *testing.T, workflow string) string {
	t.Helper()
	const released = "      - uses: raymond-action/raymond-action@v1\n"
	if n := strings.Count(workflow, released); n != 1 {
		t.Fatalf("steps that use the action: got %d, want 1 in\n%s", n, workflow)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readText(t, "go.mod"))
	return strings.Replace(workflow, released, "      - "+setupGo.FindString(readText(t, ".github/workflows/ci.yml"))+`
        with: {go-version: "`+version[1]+`", cache: false}
      - uses: raymond-action/raymond-action@COMMIT
`, 1)
}
