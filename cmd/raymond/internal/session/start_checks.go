package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/prices"
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

// Prices returns the current prices for a run with these options.
func Prices(o state.Options) prices.Table { return prices.Table{Custom: o.Prices, Now: time.Now()} }

// CheckPrices returns an error if a run has a budget that can't be enforced in some states. That is the
// case if the agent CLI reports tokens instead of cost, and the model has no price. Only models that the
// workflow's files show are checked, and only states of the jobs in o. If o names no jobs, all states are
// checked.
func CheckPrices(o *options.Options, w *protocol.Workflow, run state.Options) error {
	if !run.HasBudget() {
		return nil
	}
	var out []error
	for _, u := range clis.Unpriced(w, &run, Prices(run)) {
		if o.Jobs == nil || slices.Contains(o.Jobs, w.JobOf(u.State)) {
			what := fmt.Sprintf("%s (in the state %s)", runner.NoPrice(u.Backend, u.Model), u.State)
			out = append(out, problem.Usage(o.FlagName("budget"), what, runner.NoPriceHint))
		}
	}
	return errors.Join(out...)
}

// WithoutVariables returns a copy of environ without the variables that names lists.
func WithoutVariables(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// WhyNotConfined returns why this system can't confine agents to their own files and processes. It
// returns "" if it can.
func WhyNotConfined() string {
	for _, lack := range cage.Gaps(cage.Policy{Network: cage.Network{IsOpen: true}}) {
		if lack.IsMajor {
			return lack.Text
		}
	}
	return ""
}

// CheckScriptEnv checks the variables in --script-env, which only trusted scripts may get. It returns an
// error if the run's jobs have no trusted script, or if agents could read the variables too. unheld is
// the reason why this system can't confine agents. It is empty if the system can.
func CheckScriptEnv(o *options.Options, s *scope.Scope, hasPrompts bool, unheld string) error {
	where := o.FlagName("script-env")
	switch {
	case len(o.ScriptEnv) == 0:
		return nil
	case !s.HasTrustedScripts(o.Jobs) && (!o.Resumes || o.IsGiven("script-env")):
		return problem.Usage(where, "is for trusted scripts, but the jobs that run here have none", "remove it, or begin the script that needs it with # raymond: trusted=true")
	case hasPrompts && !o.Cage.IsOff() && unheld != "":
		return &problem.Problem{Class: problem.ClassDenied, Where: where, What: "can't be kept secret from agents here: " + unheld,
			Hint: "run the trusted scripts in a separate job (job: publish with prompts: false), or set cage: off if agents may see these variables"}
	}
	return nil
}

// modelKeys are the keys that Environ keeps. In a job they are withheld too, because a proxy adds them to
// requests. At a shell, the agent CLI reads them itself.
var modelKeys = map[string]bool{"ANTHROPIC_API_KEY": true, "CLAUDE_CODE_OAUTH_TOKEN": true}

// Environ returns the environment of agents and scripts in a run that was started at a shell. It contains all
// variables except the secrets that are withheld in a job too.
func Environ(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !modelKeys[name] && secrets.IsWithheld(name)
	})
}
