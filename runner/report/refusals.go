package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const remedyIntro = "; to allow it (not tried): "

// remedy returns the setting that is for a refused use of a tool, "" if none is known.
func remedy(r state.Refusal) string {
	if len(r.Allow) == 0 {
		return ""
	}
	return "allowed-tools: " + strings.Join(r.Allow, ", ")
}
