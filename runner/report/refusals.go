package report

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/state"
)

// toolName matches the name of a tool.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`) })

// toolUse splits the use of a tool, as a backend reports it: the name of the tool, and
// in parentheses the input that says most, which may be cut.
func toolUse(text string) (tool, input string, ok bool) {
	tool, input, _ = strings.Cut(text, "(")
	input, ok = strings.CutSuffix(input, ")")
	return tool, input, ok && len(tool) <= widestName && toolName().MatchString(tool)
}

// refusals returns the refused uses of tools of a state, each once and in order, with
// what is known about them. Logs of earlier versions have only the uses.
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

// remedy returns the setting that would allow a refused use of a tool, "" if none is
// known. The introduction warns if it would allow everything else too.
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
