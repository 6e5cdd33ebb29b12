package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// part is a piece of README.md that is made of something else.
var part = regexp.MustCompile(`(?s)<!-- (file|made): (\S+) -->\n.*?<!-- end -->`)

// TestReadmePartsAreWhatTheyShow: workflow files are those of the examples, and
// the tables of inputs and outputs are the Action's. -update-docs rewrites them.
func TestReadmePartsAreWhatTheyShow(t *testing.T) {
	got, parts := readText(t, "README.md"), 0
	want := part.ReplaceAllStringFunc(got, func(old string) string {
		parts++
		m := part.FindStringSubmatch(old)
		text := partOf(t, m[1], m[2])
		return fmt.Sprintf("<!-- %s: %s -->\n%s<!-- end -->", m[1], m[2], text)
	})
	if *updateDocs {
		if err := os.WriteFile(filepath.Join("../..", "README.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("README.md: a part is not what it shows; go test ./cmd/raymond -run Readme -update-docs rewrites it (-page +source):\n%s", d)
	}
	if parts < 5 {
		t.Errorf("parts of README.md: got %d, want three files and two tables", parts)
	}
}

func partOf(t *testing.T, kind, name string) string {
	switch {
	case kind == "file":
		return "\n```yaml\n" + readText(t, name) + "```\n\n"
	case name == "inputs":
		return "\n" + inputTable()
	case name == "outputs":
		return "\n" + outputTable()
	}
	t.Fatalf("part of README.md: got %q, which nothing makes", name)
	return ""
}

// inputTable has every input with what it is without a value.
func inputTable() string {
	var b strings.Builder
	b.WriteString("| input | default | meaning |\n|---|---|---|\n")
	for _, in := range job.Inputs() {
		standard := ""
		switch {
		case in.Required:
			standard = "required"
		case in.Default != "":
			standard = "`" + in.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", in.Name, standard, strings.ReplaceAll(in.Text, "|", `\|`))
	}
	return b.String() + "\n"
}

func outputTable() string {
	var b strings.Builder
	b.WriteString("| output | meaning |\n|---|---|\n")
	for _, out := range job.Outputs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", out.Name, strings.ReplaceAll(out.Text, "|", `\|`))
	}
	return b.String() + "\n"
}
