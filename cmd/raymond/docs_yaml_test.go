package main

import (
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// yamlBlocks returns the blocks of YAML in a page.
func yamlBlocks(t *testing.T, page string) []string {
	t.Helper()
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readText(t, page), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// TestWorkflowsInPagesUseTheAction: each workflow that a page shows gives the
// Action inputs that it has, and jobs the permissions and the concurrency group
// that a run which goes on needs.
func TestWorkflowsInPagesUseTheAction(t *testing.T) {
	known := map[string]bool{}
	for _, in := range job.Inputs() {
		known[in.Name] = true
	}
	found := 0
	for _, page := range []string{"README.md", "docs/action.md"} {
		for _, block := range yamlBlocks(t, page) {
			var w struct {
				Permissions map[string]string
				Concurrency map[string]any
				Jobs        map[string]struct {
					Steps []struct {
						Uses string
						With map[string]string
					}
				}
			}
			if err := yaml.Unmarshal([]byte(block), &w); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
			}
			if w.Permissions["actions"] != "read" || w.Concurrency["group"] == nil {
				t.Errorf("%s: got no actions: read or no concurrency group in\n%s", page, block)
			}
			for _, j := range w.Jobs {
				for _, s := range j.Steps {
					if !strings.HasPrefix(s.Uses, "raymond-action/") {
						continue
					}
					found++
					for name := range s.With {
						if !known[name] {
							t.Errorf("%s: the Action has no input %q", page, name)
						}
					}
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("steps that use the Action: got %d, want one on each page", found)
	}
}
