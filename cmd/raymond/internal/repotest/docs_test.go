package repotest

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// TestInputsInPagesAreThere: a step that a page shows has inputs that the Action knows.
func TestInputsInPagesAreThere(t *testing.T) {
	t.Parallel()
	known, found := map[string]bool{}, 0
	for _, in := range job.Inputs() {
		known[in.Name] = true
	}
	for _, page := range pages(t) {
		for _, b := range blocks(readText(t, page)) {
			var whole yaml.Node
			if b.language != "yaml" || yaml.Unmarshal([]byte(b.text), &whole) != nil {
				continue
			}
			for _, name := range inputsIn(&whole) {
				if found++; !known[name] {
					t.Errorf("%s: the Action has no input %q", page, name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("inputs in pages: got %d, want at least 20", found)
	}
}

// inputsIn are the inputs of the steps that use the Action.
func inputsIn(n *yaml.Node) []string {
	var step struct {
		Uses string
		With map[string]any
	}
	if n.Kind == yaml.MappingNode && n.Decode(&step) == nil && strings.HasPrefix(step.Uses, "raymond-action/raymond-action@") {
		return sortedKeys(step.With)
	}
	var all []string
	for _, child := range n.Content {
		all = append(all, inputsIn(child)...)
	}
	return all
}

// TestCommandsInPagesAreThere: a command line of raymond in a page has a command and
// flags that there are.
func TestCommandsInPagesAreThere(t *testing.T) {
	t.Parallel()
	known, found := map[string]command{}, 0
	for _, c := range commands(t, "raymond") {
		known[strings.TrimPrefix(c.path, "raymond ")] = c
	}
	line := regexp.MustCompile(`(?m)^(?:\$ )?(?:go run \./cmd/)?raymond ([a-z]+)(?:  |\b)((?: \S+)*)`)
	for _, page := range pages(t) {
		for _, b := range blocks(readText(t, page)) {
			for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(b.text, "\\\n", " "), -1) {
				found++
				c, ok := known[m[1]]
				if !ok {
					t.Errorf("%s: %s: there is no such command", page, m[0])
				}
				for _, flag := range regexp.MustCompile(` (--[a-z-]+)`).FindAllStringSubmatch(m[2], -1) {
					if !slices.ContainsFunc(c.flags, func(f row) bool { return slices.Contains(strings.FieldsFunc(f.name, isBetween), flag[1]) }) {
						t.Errorf("%s: %s: there is no flag %s", page, m[0], flag[1])
					}
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("commands in pages: got %d, want at least 30", found)
	}
}

// isBetween tells what stands between the names of a flag in its help.
func isBetween(r rune) bool { return r == ' ' || r == ',' || r == '[' || r == '=' }

// place is a link of a document, or a picture: a file and a heading in it.
var place = regexp.MustCompile(`(?:\]\(|(?:src|srcset)=")([^)#"\s]*)(#[^)"\s]*)?[)"]`)

// TestLinksOfDocumentsLead finds links to files and headings, and pictures, that are
// not there.
func TestLinksOfDocumentsLead(t *testing.T) {
	t.Parallel()
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

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are how the headings of a page are linked to.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, "#"+strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
