package lint

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/jobfile"
	"github.com/raymond-action/raymond-action/protocol"
)

// checkWorkspace finds steps beside agents to which what agents leave in the workspace may do harm: later ones with
// secrets, and caches.
func (c *handovers) checkWorkspace() {
	told := map[jobfile.Pos]bool{}
	for _, u := range c.uses {
		for _, s := range u.file.All {
			p := protocol.Problem{Code: "after-agents", Hint: "give it a job of its own: docs/security.md#what-is-not-held"}
			isOurs := slices.ContainsFunc(u.file.Uses(), func(o jobfile.Use) bool { return o.At == s.At })
			switch {
			case s.Job != u.Job || isOurs || told[s.At] || !c.hasPrompts(u):
				continue
			case strings.HasPrefix(s.Action, "actions/cache") && isInWorkspace(s.Input("path")):
				p.Message = "this cache has files of the workspace, which agents can write: it brings them into other jobs"
			case s.Step > u.Step && s.HasSecret:
				p.Message = "this step has secrets, and comes after agents, which can write all that is in the workspace"
			default:
				continue
			}
			told[s.At] = true
			c.aboutStep(protocol.SeverityWarning, &use{s, u.file}, "", p)
		}
	}
}

// hasPrompts reports whether a step may run prompts.
func (c *handovers) hasPrompts(u use) bool {
	return !strings.EqualFold(u.Input("prompts"), "false") && slices.ContainsFunc(c.chart.States(), func(name string) bool {
		st, ok := c.flow.State(name)
		runs, known := u.Runs(c.flow.JobOf(name))
		return ok && st.Kind == protocol.Prompt && (runs || !known)
	})
}

// isInWorkspace reports whether one of some paths, a line each, lies in the workspace.
func isInWorkspace(paths string) bool {
	return slices.ContainsFunc(strings.Fields(paths), func(path string) bool {
		return !strings.ContainsAny(path[:1], "/~!$")
	})
}
