package runner

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// bypass is the mode that --dangerously-skip-permissions stands for.
const bypass = "bypassPermissions"

// permissions says what an agent may do unasked in a state.
func permissions(policy protocol.Policy, opt *state.Options) Permissions {
	p := Permissions{
		AllowedTools:    allowed(policy.AllowedTools, opt.AllowedTools),
		DisallowedTools: append(append([]string{}, opt.DisallowedTools...), policy.DisallowedTools...),
	}
	// Beside the flag an agent CLI ignores a mode, so a state with a mode of its own
	// is run without the flag.
	own := policy.PermissionMode
	switch {
	case !opt.SkipPermissions:
		p.PermissionMode = permission(own, opt.PermissionMode)
	case own == "" || own == bypass:
		p.SkipPermissions = true
	default:
		p.PermissionMode = own
	}
	return p
}

// permission returns the mode for a state: its own, but never above the run's.
func permission(own, run string) string {
	if own == "" || protocol.PermissionRank(own) > protocol.PermissionRank(run) {
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
