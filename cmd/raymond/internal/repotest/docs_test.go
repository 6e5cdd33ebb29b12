package repotest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linkPattern matches a link or a picture in a page. The groups are the target file and the heading in it.
var linkPattern = regexp.MustCompile(`(?:\]\(|(?:src|srcset)=")([^)#"\s]*)(#[^)"\s]*)?[)"]`)

// TestLinksInDocumentsWork checks that each picture, and the target file and heading of each link, exists.
func TestLinksInDocumentsWork(t *testing.T) {
	t.Parallel()
	for _, d := range append(pages(t), "CHANGELOG.md") {
		for _, m := range linkPattern.FindAllStringSubmatch(readText(t, d), -1) {
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

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the anchors that GitHub generates for the headings of a page.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
