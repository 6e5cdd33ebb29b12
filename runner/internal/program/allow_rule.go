package program

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// editors are the tools that change files. In allowed_tools, the rule Edit applies to all of them.
var editors = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

// toolForm matches the name of a tool, firstForm the first word of a command, and secondForm a subcommand.
var (
	toolForm   = text.Regexp(`^[A-Za-z][A-Za-z0-9_-]{0,100}$`)
	firstForm  = text.Regexp(`^[A-Za-z0-9._/+@=-]{1,100}$`)
	secondForm = text.Regexp(`^[a-z][a-z0-9-]{0,50}$`)
)

// PlainRule returns an entry for allowed_tools that describes a tool call. For a command, the entry
// contains the first word, and the second word if it looks like a subcommand. It returns "" if no entry
// can describe the call. It doesn't check whether the agent CLI would allow the call with this entry.
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
