package runner

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// bypass is the mode that --dangerously-skip-permissions stands for.
const bypass = "bypassPermissions"

// permission returns the mode for a state: its own, but never above the run's.
func permission(own, run string) string {
	mine, _ := protocol.PermissionRank(own)
	top, _ := protocol.PermissionRank(run)
	if own == "" || mine > top {
		return run
	}
	return own
}

// allowed returns the tools a state may use without being asked: its own list;
// where the run has one too, the entries of the state's that the run's names, by
// themselves or by their bare tool. A state whose list is empty may use none.
func allowed(own, run []string) []string {
	switch {
	case own == nil:
		return append([]string{}, run...)
	case len(run) == 0:
		return append([]string{}, own...)
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
