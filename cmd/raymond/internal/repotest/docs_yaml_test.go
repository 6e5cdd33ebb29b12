package repotest

import (
	"regexp"
	"slices"
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

// scoped is what a workflow says for all of its jobs, or a job for itself.
type scoped struct {
	Permissions map[string]string
	Concurrency map[string]any
}

// within returns what holds for a job of a workflow.
func (s scoped) within(all scoped) (permissions map[string]string, concurrency map[string]any) {
	permissions, concurrency = s.Permissions, s.Concurrency
	if permissions == nil {
		permissions = all.Permissions
	}
	if concurrency == nil {
		concurrency = all.Concurrency
	}
	return permissions, concurrency
}

type step struct {
	Uses string
	With map[string]string
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
				scoped `yaml:",inline"`
				Jobs   map[string]struct {
					scoped `yaml:",inline"`
					Steps  []step
				}
			}
			if err := yaml.Unmarshal([]byte(block), &w); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
			}
			for name, j := range w.Jobs {
				uses := slices.ContainsFunc(j.Steps, func(s step) bool { return strings.HasPrefix(s.Uses, "raymond-action/") })
				if may, group := j.within(w.scoped); uses && (may["actions"] != "read" || group["group"] == nil) {
					t.Errorf("%s: job %s: got no actions: read or no concurrency group in\n%s", page, name, block)
				}
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
