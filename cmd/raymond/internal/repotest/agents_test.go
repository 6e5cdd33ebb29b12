package repotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vendorFiles are the files outside of the packages of agent CLIs that may name one vendor or its
// products, each with the reason. What users write has names, and so have the tables of it; what
// is done about it is the matter of the packages.
var vendorFiles = map[string]string{
	"protocol/backends.go":                       "the names that workflows use",
	"protocol/keys.go":                           "what the key agent may be, in the reference",
	"protocol/workflow.go":                       "files for agents, such as CLAUDE.md, are no states",
	"state/run.go":                               "claude_args, an option that is kept in state files",
	"state/ledger.go":                            "names of models, as clouds write them around the maker's",
	"cmd/raymond/app.go":                         "the first sentence of the help",
	"cmd/raymond/topics.go":                      "variables of the environment that users set",
	"cmd/raymond/internal/options/agents.go":     "flags",
	"cmd/raymond/internal/session/session.go":    "claude_args, which is passed on",
	"cmd/raymond/internal/session/environ.go":    "variables with keys that a shell may hand on",
	"cmd/raymond/internal/job/table.go":          "inputs",
	"cmd/raymond/internal/job/keys.go":           "inputs with keys, and variables that name an API",
	"cmd/raymond/internal/job/environ.go":        "variables that a job may hand on",
	"cmd/raymond/internal/action/credentials.go": "where people log in by hand, and with which variables",
	"internal/untrusted/secrets/names.go":        "variables that hold keys",
}

// vendorWords are of one vendor alone.
var vendorWords = []string{"claude", "anthropic"}

// TestVendorsStayInTheirPackages: outside of the package of an agent CLI and the list of them all,
// nothing knows one of them by name, but for tables of what users write. What is said of Claude is
// what is said of the oldest: the others came after this test.
func TestVendorsStayInTheirPackages(t *testing.T) {
	named := map[string]bool{}
	for _, f := range sources(t) {
		inPackage := strings.HasPrefix(f.pkg(), "runner/claude") || f.pkg() == "runner/agents"
		if f.isTest() || isForTests(f.pkg()) || inPackage {
			continue
		}
		for _, path := range f.imports() {
			if strings.Contains(path, module+"/runner/claude") {
				t.Errorf("%s imports %s: only runner/agents may", f.name, path)
			}
		}
		data, err := os.ReadFile(filepath.Join("../../../..", f.name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ToLower(string(data))
		for _, word := range vendorWords {
			if strings.Contains(text, word) {
				named[f.name] = true
				if vendorFiles[f.name] == "" {
					t.Errorf("%s names %q: what one agent CLI alone needs belongs into its package", f.name, word)
				}
			}
		}
	}
	for name := range vendorFiles {
		if !named[name] {
			t.Errorf("vendorFiles: %s names no vendor any more; take it out", name)
		}
	}
}
