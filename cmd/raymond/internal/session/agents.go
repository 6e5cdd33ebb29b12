package session

import (
	"cmp"
	"context"
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
	for _, n := range s.Agents(cmp.Or(now.Backend, protocol.DefaultBackend), jobs) {
		_, isKnown := agents.Of(n.Backend)
		switch {
		case !isKnown:
			out = append(out, problem.Usage(n.State, fmt.Sprintf("this version of raymond can't run the agent %s", n.Backend), "name one of "+listed(agents.Abilities())))
		case n.Backend == protocol.BackendCommand && now.Command == "":
			out = append(out, problem.Usage(n.State, "nobody says which program the agent "+n.Backend+" is", "name it with --agent-command, in a job with the input agent-command"))
		}
	}
	return errors.Join(out...)
}

// checkCLIs reports the agent CLIs that the run will come to, as far as the files of the workflow show, and that this machine
// lacks, before anything of it runs.
func (s *Session) checkCLIs(ctx context.Context) error {
	u := s.setup
	var places []string
	for _, p := range u.Run.Places() {
		places = append(places, p.State)
	}
	var out []error
	for _, n := range u.Scope.Agents(cmp.Or(u.Now().Backend, protocol.DefaultBackend), u.Options.Jobs, places...) {
		if err := agents.Check(ctx, s.clis[n.Backend], u.Options.Cage.IsOff()); err != nil {
			out = append(out, &problem.Problem{Class: problem.ClassRuntime, Where: n.State, What: err.Error()})
		}
	}
	return errors.Join(out...)
}

// Needs returns what the cage of a run with these options has to know of agent CLIs, and makes what
// they must find in it.
func Needs(c agents.Config, now state.Options, s *scope.Scope, jobs []string) (runner.Needs, error) {
	run := cmp.Or(now.Backend, protocol.DefaultBackend)
	used := []string{run} // the files don't show all that a script may lead to
	for _, n := range s.Agents(run, jobs) {
		used = append(used, n.Backend)
	}
	c.ClaudeArgs, c.Command = now.ClaudeArgs, now.Command
	return agents.Needs(c, used)
}

// listed names agent CLIs.
func listed(all []runner.Abilities) string {
	var names []string
	for _, a := range all {
		names = append(names, a.Backend)
	}
	return strings.Join(names, ", ")
}
