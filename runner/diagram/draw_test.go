package diagram_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

func load(files map[string]string) *protocol.Workflow {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, _ := protocol.Load(fsys, protocol.LoadOptions{Platform: protocol.Unix})
	return w
}

// pathOf returns the path of a run whose events are given as JSON objects, one per line.
func pathOf(t *testing.T, lines string) *diagram.Path {
	t.Helper()
	m := report.NewModel()
	seq := 0
	for line := range strings.Lines(lines) {
		seq++
		line = fmt.Sprintf(`{"time":"2024-05-06T07:08:09.000Z","seq":%d,%s`, seq, strings.TrimPrefix(strings.TrimSpace(line), "{"))
		var e state.Event
		assert.NilError(t, json.Unmarshal([]byte(line), &e), "event %s", line)
		m.Add(e)
	}
	return m.Path()
}

// TestDraw compares the diagrams of the workflows in testdata with golden files. If there is a file
// with events for a workflow, the diagram shows the path of the run.
func TestDraw(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	assert.NilError(t, err, "testdata")
	assert.Assert(t, len(paths) != 0, "testdata: got no files (%v)", err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		assert.NilError(t, err)
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		var run *diagram.Path
		if events, ok := files["events"]; ok {
			run = pathOf(t, events)
		}
		got := diagram.Draw(load(files), run)
		goldenFile(t, strings.TrimSuffix(path, ".txtar")+".mmd", string(txtar.Format(archive)), got)
	}
}

// goldenFile fails the test if a diagram differs from a golden file. With -update, it writes the
// file.
func goldenFile(t *testing.T, path, input, got string) {
	t.Helper()
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	assert.Check(t, err == nil && got == string(want), "%s\ninput:\n%s\ngot:\n%s\nwant (%v):\n%s", path, input, got, err, want)
}

// oddNames lists names of states that could break a diagram.
var oddNames = []string{
	"end", "END", "graph", "subgraph", "flowchart", "default", "style", "class", "click", "linkStyle", "o", "x", "s0",
	`a"b'c`, "[x] (y) {z}", "((x))", "`code`", "#35;", "#quot;", "&quot;", "&amp;lt;", "1. list", "1) list", "- item",
	"+ item", "www.example", "http:x", "me@example.org", "__init__", "*bold*", "~~gone~~", "a|b", "a;b-->c", "a --- b",
	"%%{init: {}}%%", "%% comment", "fa:fa-car", "$$x^2$$", "style: x#;", "classDef: a#b;", "v1.2.3", "a<b>c", "<br>",
	"<script>alert(1)</script>", "a&b", "![i](j)", "[i](j)", "# head", "> quote", "= =", "a  b", "ﬂ°°35¶ß", "日本語", "émoji é",
	"🎉", "🏳️‍🌈", "مرحبا", "…", "true", "null", "a\u00a0b", "x@{ shape: cyl }", "A:::b", "e1@-->", "~", "^", "a=b", "{{x}}",
}

// flow returns a workflow whose first state has a transition to a state for each name.
func flow(names []string) map[string]string {
	files := map[string]string{}
	start := ""
	for _, n := range names {
		n = strings.ReplaceAll(n, "/", ":")
		files[n+".md"] = "<result>done</result>"
		start += "<goto>" + n + ".md</goto>\n"
	}
	files["START.md"] = start
	return files
}

// TestOddNames compares the diagram of a workflow with oddNames with a golden file. A test with the
// build tag world checks how Mermaid reads such diagrams.
func TestOddNames(t *testing.T) {
	goldenFile(t, "testdata/odd_names.mmd", "odd names", diagram.Draw(load(flow(oddNames)), nil))
}

// Patterns of the lines in a diagram that define nodes and edges.
var (
	nodeLine = regexp.MustCompile(`(?m)^    \w+[\[(]`)
	edgeLine = regexp.MustCompile(`(?m)^    s\d+ [-=]`)
)

// TestHiddenCharactersShow checks that the name of a state can't change the direction of text or
// hide characters.
func TestHiddenCharactersShow(t *testing.T) {
	for name, want := range map[string]string{
		"a\u202eb": "a\ufffdb", "a\u200bb": "a\ufffdb", "a\u0085b": "a\ufffdb",
		strings.Repeat("x", 30) + strings.Repeat("y", 30): strings.Repeat("x", 26) + "…" + strings.Repeat("y", 10) + ".md",
	} {
		w := load(map[string]string{"START.md": "<goto>" + name + "</goto>", name + ".md": ""})
		if got := diagram.Draw(w, nil); !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, ".", "#46;")) {
			t.Errorf("input: %q\ngot:\n%s\nwant: %q in it", name, got, want)
		}
	}
}
