package clis

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
)

// TestAllBackendsAreListed checks that All contains the agent CLI of each backend, in this order.
func TestAllBackendsAreListed(t *testing.T) {
	var names []string
	for _, c := range All {
		names = append(names, c.Abilities.Backend)
	}
	assert.Check(t, is.DeepEqual(names, protocol.Backends()))
}

// TestDocsListVersionsAndFaults checks that docs/agents.md contains the tested version of each CLI
// and each fault with its consequence.
func TestDocsListVersionsAndFaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	assert.NilError(t, err)
	for _, c := range All {
		assert.Check(t, c.Pin == nil || strings.Contains(string(page), "| "+c.Pin.Version()+" |"), "the table of docs/agents.md lacks the version of %s", c.Abilities.Title)
	}
	for _, f := range runner.Faults {
		row := fmt.Sprintf("| %s | %s |", f.Name, cmp.Or(f.Kind, "–"))
		assert.Check(t, strings.Contains(string(page), row), "the table of failures in docs/agents.md lacks %q", row)
	}
}
