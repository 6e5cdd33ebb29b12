package session

import (
	"cmp"
	"context"
	"errors"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/state"
)

// CheckAgentCommand returns an error if a run with these options needs the agent "command" and no command
// is set. Only agents that the workflow's files show are checked, in states of the given jobs. If jobs is
// nil, all states are checked.
func CheckAgentCommand(now *state.Options, s *scope.Scope, jobs []string) error {
	for _, n := range s.NeededCLIs(cmp.Or(now.Backend, protocol.DefaultBackend), jobs) {
		if n.Backend == protocol.BackendCommand && now.Command == "" {
			return problem.Usage(n.State, "no program is set for the agent "+n.Backend, "set --agent-command, or in a job the input agent-command")
		}
	}
	return nil
}

// checkCLIs returns an error if the run will need an agent CLI that this machine lacks. Only agent CLIs
// that the workflow's files show are checked. It is called before any process of the run starts.
func (s *Session) checkCLIs(ctx context.Context) error {
	u := s.setup
	var places []string
	for _, p := range u.Run.StateRefs() {
		places = append(places, p.State)
	}
	var out []error
	for _, n := range u.Scope.NeededCLIs(cmp.Or(u.CurrentOptions().Backend, protocol.DefaultBackend), u.Options.Jobs, places...) {
		if err := clis.Check(ctx, s.clis[n.Backend], u.Options.Cage.IsOff()); err != nil {
			out = append(out, problem.OfMachine(n.State, err))
		}
	}
	return errors.Join(out...)
}

// CageNeeds returns the paths and hosts that agent CLIs need in the cage of a run with these options. It also
// creates the files that the CLIs expect there.
func CageNeeds(c clis.Config, now state.Options, s *scope.Scope, jobs []string) (runner.Needs, error) {
	run := cmp.Or(now.Backend, protocol.DefaultBackend)
	used := []string{run} // a script may go to prompts that the workflow's files don't show
	for _, n := range s.NeededCLIs(run, jobs) {
		used = append(used, n.Backend)
	}
	c.ClaudeArgs, c.Command = now.ClaudeArgs, now.Command
	return clis.PrepareFolders(c, used)
}
