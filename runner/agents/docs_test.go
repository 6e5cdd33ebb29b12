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
	for backend, pin := range Pins() {
		if !strings.Contains(string(page), "| "+pin.Version()+" |") {
			t.Errorf("the table of docs/agents.md lacks the version of %s, %s", backend, pin.Version())
		}
	}
}
