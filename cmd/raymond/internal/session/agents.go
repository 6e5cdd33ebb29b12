package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/state"
)

// CheckAgents reports the agent CLIs that a run with these options needs, as far as the files of
// the workflow show, and that can't be run: this program has none of the name, or it is not told
// what to run. Only the states of the jobs count; nil is all.
func CheckAgents(now *state.Options, s *scope.Scope, jobs []string) error {
	var out []error
	for _, n := range s.Agents(cmp.Or(now.Backend, protocol.BackendClaude), jobs) {
		_, isKnown := agents.Of(n.Backend)
		what := fmt.Sprintf("the agent %s of %s", n.Backend, n.State)
		switch {
		case !isKnown:
			out = append(out, problem.Usage("agent", what+" can't be run by this version of raymond", "name one of "+listed(agents.Abilities())))
		case n.Backend == protocol.BackendCommand && now.Command == "":
			out = append(out, problem.Usage("agent-command", what+" has no command", "give the command that runs its prompts"))
		}
	}
	return errors.Join(out...)
}

// listed names agent CLIs.
func listed(all []runner.Abilities) string {
	var names []string
	for _, a := range all {
		names = append(names, a.Backend)
	}
	return strings.Join(names, ", ")
}
