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
	"github.com/raymond-action/raymond-action/state"
)

// keyAdvice is what to do about the credentials of a run that failed for want of
// any, which agent CLIs word for somebody at a terminal; "" for all other runs. f is the
// workflow; nil for not known.
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
			return "the API refused the credentials: check the secret that is given as " + strings.Join(inputs, " or ")
		}
		empty := "input " + inputs[0] + " is empty"
		if len(inputs) > 1 {
			empty = "inputs " + strings.Join(inputs, " and ") + " are empty"
		}
		return "agents had no credentials: the " + empty + "; set the secret that the workflow file names (events from forks get none)"
	}
	return ""
}

// checkCredentials refuses to start a workflow whose agents are sure to have no credentials.
// That is so on a runner of GitHub's, which nobody has logged in on, unless a step
// before has made settings for the agent CLI.
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
		const hint = "set the secret that the workflow file names (events from forks get none)"
		if len(inputs) == 1 {
			errs = append(errs, problem.Usage("input "+inputs[0], "is empty, and the agent "+backend+" runs prompts of the workflow", hint))
			continue
		}
		errs = append(errs, problem.Usage("inputs "+strings.Join(inputs, " and "), "both are empty, and the workflow has prompts",
			hint+", or the variables of Bedrock, Vertex or a gateway"))
	}
	return errors.Join(errs...)
}

// login is how people log in with an agent CLI without a key that is ours to see: by variables that the job names for it, which
// begin so, or by its folder, in the home folder or where a variable says.
type login struct {
	prefixes         []string
	variable, folder string
}

// logins are those of the agent CLIs that ask an API, by protocol.Backends.
var logins = map[string]login{
	protocol.BackendClaude: {[]string{"ANTHROPIC_", "CLAUDE_", "AWS_"}, "CLAUDE_CONFIG_DIR", ".claude"},
	protocol.BackendCodex:  {[]string{"OPENAI_", "CODEX_"}, "CODEX_HOME", ".codex"},
	protocol.BackendGemini: {[]string{"GEMINI_", "GOOGLE_"}, "", ".gemini"},
}

// mayLogIn reports whether an agent CLI may have credentials that are not ours to see.
func mayLogIn(env Env, in job.Settings, backend string) bool {
	l := logins[backend]
	for _, name := range in.Env {
		if slices.ContainsFunc(l.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return true
		}
	}
	dir := filepath.Join(cmp.Or(env.Getenv("HOME"), env.Getenv("USERPROFILE")), l.folder)
	if l.variable != "" {
		dir = cmp.Or(env.Getenv(l.variable), dir)
	}
	if _, err := os.Stat(dir); err == nil {
		return true
	}
	hasSettings := func(arg string) bool { return strings.Contains(arg, "--settings") }
	return backend == protocol.BackendClaude && slices.ContainsFunc(job.Arguments(env.Getenv), hasSettings)
}
