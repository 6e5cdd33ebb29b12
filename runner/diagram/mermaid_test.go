//go:build world

package diagram_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/diagram"
)

// TestMermaidReadsTheDrawings checks that Mermaid accepts the diagrams in testdata, of the examples
// and of huge workflows. Mermaid must find exactly the nodes and edges that Draw has written.
func TestMermaidReadsTheDrawings(t *testing.T) {
	var names, texts []string
	for _, pattern := range []string{"testdata/*.mmd", "../../examples/*/1_START.*"} {
		paths, err := filepath.Glob(pattern)
		assert.NilError(t, err, pattern)
		assert.Assert(t, len(paths) != 0, "%s: got no files (%v)", pattern, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			if strings.Contains(path, "START") { // the first state of an example
				w, problems := protocol.Load(os.DirFS(filepath.Dir(path)), protocol.LoadOptions{Platform: protocol.Unix})
				assert.Assert(t, is.Len(problems, 0), "load %s: %v", path, problems)
				text = []byte(diagram.Draw(w, nil))
			}
			names, texts = append(names, path), append(texts, string(text))
		}
	}
	for name, text := range huge(t) {
		names, texts = append(names, name), append(texts, text)
	}
	for i, c := range readByMermaid(t, texts...) {
		if c.Error != "" {
			t.Errorf("%s\ninput:\n%s\ngot: %s\nwant: no fault", names[i], texts[i], c.Error)
			continue
		}
		checkParts(t, names[i], texts[i], c)
	}
}

// checkParts compares the numbers of nodes and edges that Mermaid found with the lines of the
// diagram.
func checkParts(t *testing.T, name, text string, c chart) {
	t.Helper()
	nodes, edges := len(nodeLine.FindAllString(text, -1)), len(edgeLine.FindAllString(text, -1))
	if len(c.Nodes) != nodes || len(c.Edges) != edges {
		t.Errorf("%s\ninput:\n%s\ngot: %d nodes, %d edges\nwant: %d, %d", name, text, len(c.Nodes), len(c.Edges), nodes, edges)
	}
	for _, n := range c.Nodes {
		assert.Check(t, len(n.Classes) != 0 && n.Plain, "%s\ninput:\n%s\ngot: node %+v\nwant: a class for it, plain text in it", name, text, n)
	}
	for _, e := range c.Edges {
		assert.Check(t, e.Plain, "%s\ninput:\n%s\ngot: edge %+v\nwant: plain text", name, text, e)
	}
}

// TestOddNamesAreShownAsTheyAre checks that Mermaid shows oddNames, and random names made of the
// same characters, unchanged.
func TestOddNamesAreShownAsTheyAre(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune(strings.Join(oddNames, ""))
	all := [][]string{oddNames}
	for range 20 {
		names := make([]string, 10)
		for i := range names {
			var b strings.Builder
			for range 1 + random.IntN(30) {
				b.WriteRune(alphabet[random.IntN(len(alphabet))])
			}
			names[i] = strings.TrimSpace(b.String()) + fmt.Sprint(i)
		}
		all = append(all, names)
	}
	var texts []string
	for _, names := range all {
		texts = append(texts, diagram.Draw(load(flow(names)), nil))
	}
	for i, c := range readByMermaid(t, texts...) {
		if c.Error != "" {
			t.Errorf("seed %d\ninput:\n%s\ngot: %s\nwant: no fault", seed, texts[i], c.Error)
			continue
		}
		checkParts(t, fmt.Sprint("seed ", seed), texts[i], c)
		for _, name := range all[i] {
			shown := func(n node) bool {
				return slices.Equal(n.Text, []string{strings.ReplaceAll(name, "/", ":") + ".md"})
			}
			if !slices.ContainsFunc(c.Nodes, shown) {
				t.Errorf("seed %d\ninput: %q\n%s\ngot: %+v\nwant: a node that shows the name", seed, name, texts[i], c.Nodes)
			}
		}
	}
}
