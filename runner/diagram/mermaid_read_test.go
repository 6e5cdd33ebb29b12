//go:build world

package diagram_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/installtest"
)

// chart is a flowchart as parsed by Mermaid.
type chart struct {
	// Error is the reason for which Mermaid rejects the text. It is empty if Mermaid accepts it.
	Error string
	Nodes []node
	Edges []edge
}

// node is a node in a chart.
type node struct {
	ID      string
	Text    []string // the lines that a reader sees
	Plain   bool     // whether the text contains no Markdown
	Shape   string   // shape, with Mermaid's name for it
	Classes []string
}

// edge is an arrow in a chart.
type edge struct {
	From, To string
	Text     []string
	Plain    bool
	Stroke   string // "normal", "thick" or "dotted"
}

// readByMermaid runs Mermaid to parse each text, and returns the charts.
func readByMermaid(t *testing.T, texts ...string) []chart {
	t.Helper()
	input, err := json.Marshal(texts)
	assert.NilError(t, err)
	const pin = "testdata/mermaid"
	dir := installtest.NPM{Name: "mermaid", Files: os.DirFS(pin), Dir: "runner/diagram/" + pin}.Install(t)
	cmd := exec.CommandContext(t.Context(), "node", pin+"/read.mjs", dir)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.NilError(t, err, "run Mermaid: %s", stderr.Bytes())
	var charts []chart
	if err := json.Unmarshal(out, &charts); err != nil || len(charts) != len(texts) {
		t.Fatalf("answer of Mermaid: got %q (%v), want %d charts", out, err, len(texts))
	}
	return charts
}
