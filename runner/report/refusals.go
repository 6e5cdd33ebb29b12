package report

import (
	"strings"

	"github.com/raymond-action/raymond-action/state"
)

const allowIntro = "; to allow it (not tried): "

// allowSetting returns a setting that may allow a refused tool use, or "".
func allowSetting(r state.Refusal) string {
	if len(r.Allow) == 0 {
		return ""
	}
	return "allowed-tools: " + strings.Join(r.Allow, ", ")
}
