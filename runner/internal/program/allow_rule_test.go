package program

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestPlainRuleNamesTheCommand checks the entries for commands and other tools, and that there is none
// for odd input.
func TestPlainRuleNamesTheCommand(t *testing.T) {
	for _, c := range []struct{ tool, command, want string }{
		{"Bash", "git push origin main", "Bash(git push:*)"},
		{"Bash", "make -C sub", "Bash(make:*)"},
		{"Bash", " ./x.sh\n", "Bash(./x.sh:*)"},
		{"Bash", "CI=1 npm test", "Bash(CI=1 npm:*)"},
		{"Bash", "go ./...", "Bash(go:*)"},
		{"Bash", "", ""},
		{"Bash", "'a b' c", ""},
		{"Bash", "$X y", ""},
		{"Write", "", "Edit"},
		{"NotebookEdit", "", "Edit"},
		{"Read", "", "Read"},
		{"mcp__a__b", "", "mcp__a__b"},
		{"Bad Tool(", "", ""},
		{"", "", ""},
	} {
		assert.Check(t, is.Equal(PlainRule(c.tool, c.command), c.want), "%s(%s)", c.tool, c.command)
	}
}
