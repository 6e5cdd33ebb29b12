package agents

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestDocsNameTheVersions that are installed and tested.
func TestDocsNameTheVersions(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	assert.NilError(t, err)
	for _, c := range All {
		assert.Check(t, c.Pin == nil || strings.Contains(string(page), "| "+c.Pin.Version()+" |"), "the table of docs/agents.md lacks the version of %s", c.Abilities.Title)
	}
}
