package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// toolName is what the name of a tool looks like.
var toolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// toolUse takes apart a use of a tool as a backend tells it: its name, and in
// parentheses the input that says most, cut short.
func toolUse(text string) (tool, input string, ok bool) {
	tool, input, _ = strings.Cut(text, "(")
	input, ok = strings.CutSuffix(input, ")")
	return tool, input, ok && len(tool) <= widestName && toolName.MatchString(tool)
}

// refusals are the refused uses of tools of a state, each once and in order, with
// what is known about them. A log of an earlier version knows the uses alone.
func refusals(b *state.StateFinished) []state.Refusal {
	var all []state.Refusal
	for _, use := range b.Denied {
		if slices.ContainsFunc(all, func(r state.Refusal) bool { return r.Use == use }) {
			continue
		}
		known := state.Refusal{Use: use}
		if i := slices.IndexFunc(b.Refusals, func(r state.Refusal) bool { return r.Use == use }); i >= 0 {
			known = b.Refusals[i]
		}
		all = append(all, known)
	}
	return all
}

// remedy is what to write to let a refused use of a tool pass, "" when nothing is
// known to. The introduction says so of what would let everything else pass too.
func remedy(r state.Refusal) (intro, setting string) {
	if len(r.Allow) == 0 {
		return "", ""
	}
	intro = "to allow it: "
	if r.AllowsAll {
		intro = "to allow it, and with it everything that it can be told to do: "
	}
	return intro, "allowed-tools: " + strings.Join(r.Allow, ", ")
}
