package agents

import (
	"os"
	"strings"
	"testing"
)

// TestDocsNameTheVersions that are installed and tested.
func TestDocsNameTheVersions(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for backend, pin := range Pins() {
		if !strings.Contains(string(page), "| "+pin.Version()+" |") {
			t.Errorf("the table of docs/agents.md lacks the version of %s, %s", backend, pin.Version())
		}
	}
}
