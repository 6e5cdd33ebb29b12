package repotest

import (
	"fmt"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/examples"
)

// generatedSection matches a section of a page that is generated from a file.
var generatedSection = regexp.MustCompile(`(?s)<!-- (file|by commit): (\S+) -->\n.*?<!-- end -->`)

// TestGeneratedSectionsMatchTheirFiles checks that the workflow files that pages show equal the files of the examples. With
// -update-docs, it rewrites the pages.
func TestGeneratedSectionsMatchTheirFiles(t *testing.T) {
	parts := map[string]int{}
	for _, page := range pages(t) {
		got := readText(t, page)
		want := generatedSection.ReplaceAllStringFunc(got, func(old string) string {
			m := generatedSection.FindStringSubmatch(old)
			parts[m[1]]++
			text := readText(t, m[2])
			if m[1] == "by commit" {
				text = string(examples.At([]byte(text), "COMMIT"))
			}
			return fmt.Sprintf("<!-- %s: %s -->\n\n```yaml\n%s```\n\n<!-- end -->", m[1], m[2], text)
		})
		if *updateDocs && got != want {
			rewrite(t, page, want)
			got = want
		}
		assert.Check(t, is.DeepEqual(got, want), "%s: a part is not what it shows; go test ./cmd/raymond/internal/repotest -run Sections -update-docs rewrites it", page)
	}
	assert.Check(t, is.Equal(parts["by commit"], 1), "parts of pages")
	assert.Check(t, parts["file"] >= 2, "parts of pages: got %v, want one by commit and two files", parts)
}
