package diagram_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/diagram"
)

// row returns a workflow whose 200 states follow each other, and the path of a run that failed in
// the 150th state.
func row(t *testing.T) (*protocol.Workflow, *diagram.Path) {
	t.Helper()
	name := func(i int) string {
		if i == 0 {
			return "START.md"
		}
		return fmt.Sprintf("STEP%03d.md", i)
	}
	files := map[string]string{name(200): "<result>done</result>"}
	events := `{"type":"agent_started","agent":"main","state":"START.md"}` + "\n"
	for i := range 200 {
		files[name(i)] = "<goto>" + name(i+1) + "</goto>\n"
		if i < 150 {
			events += fmt.Sprintf(`{"type":"state_started","agent":"main","state":%[1]q}
{"type":"transition","agent":"main","state":%[1]q,"tag":"goto","from":%[1]q,"target":%[2]q}
`, name(i), name(i+1))
		}
	}
	return load(files), pathOf(t, events+fmt.Sprintf(`{"type":"state_started","agent":"main","state":%[1]q}
{"type":"agent_finished","agent":"main","state":%[1]q,"error":"broken"}`, name(150)))
}

// overgrown returns a workflow with 200 states and 2,400 lines between them, and the path of a run
// of this workflow.
func overgrown(t *testing.T) (*protocol.Workflow, *diagram.Path) {
	t.Helper()
	files := map[string]string{"START.md": ""}
	name := func(i int) string { return fmt.Sprintf("%s%d", strings.Repeat("&;", 25), i) }
	for i := range 200 {
		files[name(i)+".md"] = ""
		for j := range 6 {
			files[name(i)+".md"] += "<call return='" + name(i+j) + "'>" + name(i+2*j) + "</call>\n"
		}
		files["START.md"] += "<goto>" + name(i) + "</goto><result>x</result>\n"
	}
	return load(files), pathOf(t, fmt.Sprintf(
		`{"type":"agent_started","agent":"main","state":"START.md"}
{"type":"state_started","agent":"main","state":"START.md"}
{"type":"transition","agent":"main","state":"START.md","tag":"goto","from":"START.md","target":%[1]q}
{"type":"state_started","agent":"main","state":%[1]q}
{"type":"agent_finished","agent":"main","state":%[1]q,"error":"x"}`, name(199)+".md"))
}

// huge returns diagrams that are too large to be drawn completely, by name.
func huge(t *testing.T) map[string]string {
	t.Helper()
	w, run := overgrown(t)
	long, way := row(t)
	return map[string]string{"overgrown": diagram.Draw(w, nil), "run": diagram.Draw(w, run), "row": diagram.Draw(long, way)}
}

// TestHugeDrawingsFit checks that diagrams stay below the limits of Mermaid. A diagram with a path
// through hundreds of states must have a readable size: the start and the failed state are kept,
// and states that did not run are left out first.
func TestHugeDrawingsFit(t *testing.T) {
	wants := map[string][]string{"overgrown": nil, "run": {"199.md  1×<br/>FAILED"}, "row": {`(["start"])`, "  1×", "FAILED"}}
	for name, got := range huge(t) {
		nodes, edges := len(nodeLine.FindAllString(got, -1)), len(edgeLine.FindAllString(got, -1))
		if edges > 500 || utf8.RuneCountInString(got) > 50_000 || nodes > 61 && name == "row" {
			t.Errorf("%s: got %d nodes, %d edges, %d characters, want at most 61, 500 and 50000", name, nodes, edges, utf8.RuneCountInString(got))
		}
		for _, want := range append(wants[name], "not shown: ") {
			assert.Check(t, is.Contains(got, want), name)
		}
		assert.Check(t, !strings.Contains(got, "STEP151.md"), "%s: got:\n%s\nwant: no state that did not run", name, got)
	}
}
