package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/raymond-action/raymond-action/protocol"
)

// TestExamplesLintClean holds that nothing can be said against an example, given
// the metadata that its page tells of.
func TestExamplesLintClean(t *testing.T) {
	folders, err := filepath.Glob("../../examples/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("examples: got none (%v)", err)
	}
	for _, folder := range folders {
		o := protocol.LintOptions{LoadOptions: protocol.LoadOptions{Platform: protocol.Unix}}
		for _, f := range protocol.Lint(os.DirFS(folder), o) {
			t.Errorf("%s: got %s %v, want nothing", folder, f.Severity, f.Problem)
		}
	}
}
