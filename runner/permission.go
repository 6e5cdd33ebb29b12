package runner

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// permissions returns the permissions of an agent in a state. They follow from the policy of the
// state and the options of the run.
func permissions(policy protocol.Policy, opt *state.Options) Permissions {
	p := Permissions{
		AllowedTools:    allowed(policy.AllowedTools, opt.AllowedTools),
		DisallowedTools: append(append([]string{}, opt.DisallowedTools...), policy.DisallowedTools...),
	}
	// With --dangerously-skip-permissions, an agent CLI ignores the permission mode. Therefore a
	// state that sets another mode runs without this flag.
	own := policy.PermissionMode
	switch {
	case !opt.SkipPermissions:
		p.PermissionMode = permission(own, opt.PermissionMode)
	case own == "" || own == "bypassPermissions": // the flag sets that mode
		p.SkipPermissions = true
	default:
		p.PermissionMode = own
	}
	return p
}

// permission returns the permission mode of a state: the state's own mode, unless it allows more
// than the run's mode.
func permission(own, run string) string {
	if own == "" || protocol.PermissionRank(own) > protocol.PermissionRank(run) {
		return run
	}
	return own
}

// allowed returns the tools that a state may use without asking. If only the state or only the run
// has a list, that list is returned. If both have one, an entry of the state's list counts only if
// the run's list contains the same entry, or its tool without arguments. A state with an empty list
// may use no tool.
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
