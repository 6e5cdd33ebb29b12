package program

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// editors are the tools that change files. A rule for Edit applies to all of them.
var editors = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

var (
	toolForm   = text.Regexp(`^[A-Za-z][A-Za-z0-9_-]{0,100}$`)
	firstForm  = text.Regexp(`^[A-Za-z0-9._/+@=-]{1,100}$`)
	secondForm = text.Regexp(`^[a-z][a-z0-9-]{0,50}$`)
)

// PlainRule returns an entry of allowed_tools for a use of a tool. For a command, the entry has its
// first word, and its second word if that looks like a subcommand. The result is "" if no entry can
// describe the use. Whether the agent CLI would then allow the use is not checked.
func PlainRule(tool, command string) string {
	switch {
	case slices.Contains(editors, tool):
		return "Edit"
	case tool != "Bash" && toolForm().MatchString(tool):
		return tool
	case tool != "Bash":
		return ""
	}
	words := strings.Fields(command)
	switch {
	case len(words) == 0 || !firstForm().MatchString(words[0]):
		return ""
	case len(words) > 1 && secondForm().MatchString(words[1]):
		return "Bash(" + words[0] + " " + words[1] + ":*)"
	}
	return "Bash(" + words[0] + ":*)"
}
