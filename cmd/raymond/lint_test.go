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
	for _, name := range exampleFolders(t) {
		folder := filepath.Join("../../examples", name)
		o := protocol.LintOptions{LoadOptions: protocol.LoadOptions{Platform: protocol.Unix}}
		for _, f := range protocol.Lint(os.DirFS(folder), o) {
			t.Errorf("%s: got %s %v, want nothing", folder, f.Severity, f.Problem)
		}
	}
}
