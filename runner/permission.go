package runner

import (
	"slices"
	"strings"
)

// modes are the permission modes in order of what they let an agent do.
var modes = map[string]int{
	"plan": 0, "default": 1, "dontAsk": 1, "acceptEdits": 2, "auto": 3, "bypassPermissions": 4,
}

// permission returns the mode for a state: its own, but never above the run's.
func permission(own, run string) string {
	if own == "" || modes[own] > modes[run] {
		return run
	}
	return own
}

// allowed returns the tools a state may use without being asked: its own list;
// where the run has one too, the entries of the state's that the run's names, by
// themselves or by their bare tool.
func allowed(own, run []string) []string {
	if len(own) == 0 || len(run) == 0 {
		return append(append([]string{}, own...), run...)
	}
	var out []string
	for _, tool := range own {
		bare, _, _ := strings.Cut(tool, "(")
		if slices.Contains(run, tool) || slices.Contains(run, bare) {
			out = append(out, tool)
		}
	}
	return out
}
