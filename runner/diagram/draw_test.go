package diagram_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/diagram"
	"github.com/raymond-action/raymond-action/runner/diagram/mermaidtest"
	"github.com/raymond-action/raymond-action/state"
)

var update = flag.Bool("update", false, "rewrite the diagrams of testdata")

func load(files map[string]string) *protocol.Workflow {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, _ := protocol.Load(fsys, protocol.LoadOptions{Platform: protocol.Unix})
	return w
}

// pathOf reads events, a JSON object a line.
func pathOf(t *testing.T, lines string) *diagram.Path {
	t.Helper()
	p := &diagram.Path{}
	seq := 0
	for line := range strings.Lines(lines) {
		seq++
		line = fmt.Sprintf(`{"time":"2024-05-06T07:08:09.000Z","seq":%d,%s`, seq, strings.TrimPrefix(strings.TrimSpace(line), "{"))
		var e state.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("event %s: %v", line, err)
		}
		p.Add(e)
	}
	return p
}

// TestDraw compares the diagrams of the workflows in testdata with golden files. Those
// with events show a run.
func TestDraw(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("testdata: got no files (%v)", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		var run *diagram.Path
		if events, ok := files["events"]; ok {
			run = pathOf(t, events)
		}
		got := diagram.Draw(load(files), run)
		golden := strings.TrimSuffix(path, ".txtar") + ".mmd"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s\ninput:\n%s\ngot:\n%s\nwant (%v):\n%s", path, txtar.Format(archive), got, err, want)
		}
	}
}

// TestMermaidReadsTheDrawings states that Mermaid accepts the diagrams of testdata and of
// the examples, and finds in them what we wrote and nothing else.
func TestMermaidReadsTheDrawings(t *testing.T) {
	var names, texts []string
	for _, pattern := range []string{"testdata/*.mmd", "../../examples/*/1_START.*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: got no files (%v)", pattern, err)
		}
		for _, path := range paths {
			if strings.Contains(path, "START") {
				path = filepath.Dir(path)
			}
			names = append(names, path)
			texts = append(texts, textOf(t, path))
		}
	}
	for i, c := range mermaidtest.Read(t, texts...) {
		if c.Error != "" {
			t.Errorf("%s\ninput:\n%s\ngot: %s\nwant: no fault", names[i], texts[i], c.Error)
			continue
		}
		checkParts(t, names[i], texts[i], c)
	}
}

// textOf returns the diagram in a file, or of the workflow in a folder.
func textOf(t *testing.T, path string) string {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		w, problems := protocol.Load(os.DirFS(path), protocol.LoadOptions{Platform: protocol.Unix})
		if len(problems) > 0 {
			t.Fatalf("load %s: %v", path, problems)
		}
		return diagram.Draw(w, nil)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	nodeLine = regexp.MustCompile(`(?m)^    \w+[\[(]`)
	edgeLine = regexp.MustCompile(`(?m)^    s\d+ [-=]`)
)

// checkParts compares what Mermaid found with the lines of the text.
func checkParts(t *testing.T, name, text string, c mermaidtest.Chart) {
	t.Helper()
	nodes, edges := len(nodeLine.FindAllString(text, -1)), len(edgeLine.FindAllString(text, -1))
	if len(c.Nodes) != nodes || len(c.Edges) != edges {
		t.Errorf("%s\ninput:\n%s\ngot: %d nodes, %d edges\nwant: %d, %d", name, text, len(c.Nodes), len(c.Edges), nodes, edges)
	}
	for _, n := range c.Nodes {
		if len(n.Classes) == 0 || !n.Plain {
			t.Errorf("%s\ninput:\n%s\ngot: node %+v\nwant: a class for it, plain text in it", name, text, n)
		}
	}
	for _, e := range c.Edges {
		if !e.Plain {
			t.Errorf("%s\ninput:\n%s\ngot: edge %+v\nwant: plain text", name, text, e)
		}
	}
}

// oddNames are names of states that could break a diagram.
var oddNames = []string{
	"end", "END", "graph", "subgraph", "flowchart", "default", "style", "class", "click", "linkStyle", "o", "x", "s0",
	`a"b'c`, "[x] (y) {z}", "((x))", "`code`", "#35;", "#quot;", "&quot;", "&amp;lt;", "1. list", "1) list", "- item",
	"+ item", "www.example", "http:x", "me@example.org", "__init__", "*bold*", "~~gone~~", "a|b", "a;b-->c", "a --- b",
	"%%{init: {}}%%", "%% comment", "fa:fa-car", "$$x^2$$", "style: x#;", "classDef: a#b;", "v1.2.3", "a<b>c", "<br>",
	"<script>alert(1)</script>", "a&b", "![i](j)", "[i](j)", "# head", "> quote", "= =", "a  b", "ﬂ°°35¶ß", "日本語", "émoji é",
	"🎉", "🏳️‍🌈", "مرحبا", "…", "true", "null", "a\u00a0b", "x@{ shape: cyl }", "A:::b", "e1@-->", "~", "^", "a=b", "{{x}}",
}

// flow is a workflow whose first state leads to states of the given names.
func flow(names []string) map[string]string {
	files := map[string]string{}
	start := ""
	for _, n := range names {
		files[n+".md"] = "<result>done</result>"
		start += "<goto>" + n + ".md</goto>\n"
	}
	files["START.md"] = start
	return files
}

// TestOddNamesAreShownAsTheyAre checks the names above, and random names of the same
// characters.
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
			names[i] = strings.TrimSpace(strings.ReplaceAll(b.String(), "/", ":")) + fmt.Sprint(i)
		}
		all = append(all, names)
	}
	var texts []string
	for i, names := range all {
		for j, n := range names {
			all[i][j] = strings.ReplaceAll(n, "/", ":")
		}
		texts = append(texts, diagram.Draw(load(flow(all[i])), nil))
	}
	for i, c := range mermaidtest.Read(t, texts...) {
		if c.Error != "" {
			t.Errorf("seed %d\ninput:\n%s\ngot: %s\nwant: no fault", seed, texts[i], c.Error)
			continue
		}
		checkParts(t, fmt.Sprint("seed ", seed), texts[i], c)
		for _, name := range all[i] {
			shown := func(n mermaidtest.Node) bool { return slices.Equal(n.Text, []string{name + ".md"}) }
			if !slices.ContainsFunc(c.Nodes, shown) {
				t.Errorf("seed %d\ninput: %q\n%s\ngot: %+v\nwant: a node that shows the name", seed, name, texts[i], c.Nodes)
			}
		}
	}
}

// TestHiddenCharactersShow states that no name can change the direction of text or hide a
// part of it.
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

// TestLargeWorkflowsFit states that a diagram never exceeds the limits of Mermaid, and
// keeps what the run did.
func TestLargeWorkflowsFit(t *testing.T) {
	files := map[string]string{"START.md": ""}
	name := func(i int) string { return fmt.Sprintf("%s%d", strings.Repeat("&;", 25), i) }
	for i := range 200 {
		files[name(i)+".md"] = ""
		for j := range 6 {
			files[name(i)+".md"] += "<call return='" + name(i+j) + "'>" + name(i+2*j) + "</call>\n"
		}
		files["START.md"] += "<goto>" + name(i) + "</goto><result>x</result>\n"
	}
	w := load(files)
	plain := diagram.Draw(w, nil)
	last := name(199) + ".md"
	run := diagram.Draw(w, pathOf(t, fmt.Sprintf(
		`{"type":"agent_started","agent":"main","state":"START.md"}
{"type":"state_started","agent":"main","state":"START.md"}
{"type":"transition","agent":"main","state":"START.md","tag":"goto","from":"START.md","target":%[1]q}
{"type":"state_started","agent":"main","state":%[1]q}
{"type":"agent_finished","agent":"main","state":%[1]q,"error":"x"}`, last)))
	for i, c := range mermaidtest.Read(t, plain, run) {
		text := []string{plain, run}[i]
		if c.Error != "" || len(c.Edges) > 500 || utf8.RuneCountInString(text) > 50_000 || !strings.Contains(text, "not shown: ") {
			t.Errorf("got: %q, %d edges, %d characters\nwant: no fault, at most 500, at most 50000, what is not shown", c.Error, len(c.Edges), len(text))
		}
	}
	if want := "199.md  1×<br/>FAILED"; !strings.Contains(run, want) {
		t.Errorf("got: %d lines, without %q\nwant: the state that failed", strings.Count(run, "\n"), want)
	}
}
