package mermaidtest

import (
	"bytes"
	_ "embed" // the script that runs in Node
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed read.mjs
var script []byte

// Chart is a flowchart as Mermaid understands it.
type Chart struct {
	Error string // why it is none; "" when it is
	Nodes []Node
	Edges []Edge
}

// Node is a node of a Chart.
type Node struct {
	ID      string
	Text    []string // the lines that a reader sees
	Plain   bool     // no Markdown in it
	Shape   string   // Mermaid's name of it
	Classes []string
}

// Edge is an arrow of a Chart.
type Edge struct {
	From, To string
	Text     []string
	Plain    bool
	Stroke   string // "normal", "thick" or "dotted"
}

// Read returns what Mermaid makes of each text. It ends the test when Mermaid
// can't be installed or run.
func Read(t testing.TB, texts ...string) []Chart {
	t.Helper()
	path := filepath.Join(t.TempDir(), "read.mjs")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", path, Install(t))
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run Mermaid: %v\n%s", err, stderr.Bytes())
	}
	var charts []Chart
	if err := json.Unmarshal(out, &charts); err != nil || len(charts) != len(texts) {
		t.Fatalf("answer of Mermaid: got %q (%v), want %d charts", out, err, len(texts))
	}
	return charts
}
