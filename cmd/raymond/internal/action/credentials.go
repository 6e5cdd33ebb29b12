package action

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/state"
)

// keyAdvice returns advice about credentials for a run whose agents could not authenticate. The
// agent CLIs' own messages address a user at a terminal. It returns "" for all other runs. f is the
// workflow, or nil if it is not known.
func keyAdvice(run *state.Run, given job.Settings, f *flow) string {
	for _, a := range run.Agents {
		if a.Failure == nil || !strings.HasPrefix(a.Failure.Message, "authentication: ") {
			continue
		}
		st := &protocol.State{}
		if f != nil {
			if known, ok := f.Workflow.State(a.State); ok {
				st = known
			}
		}
		backend := a.BackendFor(st, &run.Options)
		inputs := job.APIKeyInputs(backend)
		switch {
		case len(inputs) == 0:
			return ""
		case given.ModelKey(backend).Text != "":
			return "the API refused the credentials: check the secret passed as " + strings.Join(inputs, " or ")
		}
		empty := "input " + inputs[0] + " is empty"
		if len(inputs) > 1 {
			empty = "inputs " + strings.Join(inputs, " and ") + " are empty"
		}
		return "agents had no credentials: the " + empty + "; set the secret that the workflow file uses (events from forks get no secrets)"
	}
	return ""
}

// checkCredentials refuses to start a workflow whose agents are certain to have no credentials.
// This is certain only on a GitHub-hosted runner, where no user has logged in, unless an earlier
// step created settings for the agent CLI.
func checkCredentials(env Env, in job.Settings, o *options.Options, f *scope.Scope) error {
	if env.Getenv("RUNNER_ENVIRONMENT") != "github-hosted" {
		return nil
	}
	if in.NoPrompts {
		return nil
	}
	var errs []error
	for _, backend := range f.SurelyNeededCLIs(o.ForNewRun().Backend, o.Jobs) {
		inputs := job.APIKeyInputs(backend)
		given := in.ModelKey(backend).Text != "" || job.HasProvider(backend, env.Environ)
		if given || len(inputs) == 0 || mayLogIn(env, in, backend) {
			continue
		}
		const hint = "set the secret that the workflow file uses (events from forks get no secrets)"
		if len(inputs) == 1 {
			errs = append(errs, problem.Usage("input "+inputs[0], "is empty, and the agent "+backend+" runs prompts of the workflow", hint))
			continue
		}
		errs = append(errs, problem.Usage("inputs "+strings.Join(inputs, " and "), "both are empty, but prompts of the workflow need a key",
			hint+", or the variables of Bedrock, Vertex or a gateway"))
	}
	return errors.Join(errs...)
}

// mayLogIn reports whether an agent CLI may have credentials that this program can't see.
func mayLogIn(env Env, in job.Settings, backend string) bool {
	access := clis.Find(backend).Access
	for _, name := range in.Env {
		if slices.ContainsFunc(access.Logins, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	dir := cmp.Or(env.Getenv(access.FolderVariable), filepath.Join(cmp.Or(env.Getenv("HOME"), env.Getenv("USERPROFILE")), access.Folder))
	if _, err := os.Stat(dir); err == nil {
		return true
	}
	hasSettings := func(arg string) bool { return strings.Contains(arg, "--settings") }
	return backend == protocol.BackendClaude && slices.ContainsFunc(job.Arguments(env.Getenv), hasSettings)
}
