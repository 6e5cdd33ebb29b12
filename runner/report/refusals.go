package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

// allowIntro introduces the rule that may allow a denied tool call.
const allowIntro = "; to allow it (not tried): "

// allowSetting returns the allowed-tools setting that may allow a denied tool call, or "" if none
// is known.
func allowSetting(r state.Refusal) string {
	if len(r.Allow) == 0 {
		return ""
	}
	return "allowed-tools: " + strings.Join(r.Allow, ", ")
}
