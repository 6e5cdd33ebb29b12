package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/confine"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/state"
)

// access is what the sender of an event may do.
type access struct {
	isAllowed bool // the sender may start the workflow
	isTrusted bool // the checkout may configure the agent CLI
}

// admit decides whether the sender of the event may start the workflow, and returns the job with the
// decision. a is the comment that may answer a question, or nil.
func admit(ctx context.Context, j *Job, log *jobLog, a *answerEvent) (*Job, error) {
	if ask.IsStickyComment(j.event.Comment.Body) || ask.IsQuestionOrReply(j.event.Comment.Body) {
		// With a token other than the job's own, each edit of the comment would start the next run.
		return j, log.skip("skipped: the event is about a comment that this action maintains")
	}
	lowest, denied := job.Authorize(ctx, j.in.Rules, j.event, j.api)
	next := *j
	if denied == nil {
		next.access = access{true, job.IsCheckoutTrusted(j.event, lowest)}
		if j.in.TrustCheckout != nil {
			next.isTrusted = *j.in.TrustCheckout
		}
		return &next, nil
	}
	if denied.IsTemporary { // a skipped step would hide a maintainer's event
		return j, serviceFault("permission", denied)
	}
	isAllowed, err := a.admits(ctx, j.api, j.event, denied)
	if next.access = (access{isAllowed: isAllowed}); err != nil || isAllowed {
		return &next, err
	}
	refused := &problem.Problem{Class: problem.ClassDenied, What: denied.Error(), Hint: denied.Remedy()}
	if j.in.OnDenied == job.OnDeniedSkip {
		return j, log.skip("skipped: " + refused.Error())
	}
	return j, refused
}

// withHead returns the job with the place where the code of a pull request comes from. If the lookup
// fails, it logs a warning, and the code counts as a stranger's.
func (j *Job) withHead(ctx context.Context, log *jobLog) *Job {
	found := *j
	if err := j.api.FindHead(ctx, &found.event); err != nil {
		log.Warn("could not find out whether the code of this event comes from a fork, so it is treated as untrusted: " + err.Error())
	}
	return &found
}

// serviceFault returns a problem of class store for a service that did not answer.
func serviceFault(where string, err error) error {
	return &problem.Problem{Class: problem.ClassStore, Where: where, What: err.Error(), Hint: "nothing was started; run the job again later"}
}

// checkCage reports inputs that need a cage beside allow-sudo, which rules out a cage: agents with
// more privileges could leave it.
func checkCage(in job.Settings, c options.Cage, log *jobLog) error {
	if !in.AllowSudo {
		return nil
	}
	const what, hint = "can't be combined with allow-sudo: true, which turns the cage off", "remove one of them"
	switch c := c; {
	case c.Mode == options.CageRequire:
		return problem.Usage("input cage", what, hint)
	case c.Network != "":
		return problem.Usage("input network", what, hint)
	case !c.IsOff():
		log.warnOnce("allow-sudo: true turns the cage off: only the permissions of the runner's user confine agents")
	}
	return nil
}

// checkAccess refuses a step that would give agents more access than they may have.
func checkAccess(j *Job, s *scratch, f *scope.Scope) error {
	hasPrompts := !j.in.NoPrompts && f.HasPromptsOf(j.options.Jobs)
	err := errors.Join(session.CheckScriptEnv(j.options, f, hasPrompts, whyNotConfined(j.in)), checkTaint(j, s.dirs, f))
	if j.options.Cage.IsOff() {
		return err
	}
	// Agents could write the JavaScript of the step's post phase.
	if own := cage.Resolve(actionDir(j.env)); hasPrompts && own != "" && !j.in.TrustSelf && cage.IsWithin(own, cage.Resolve(s.top)) {
		err = errors.Join(err, problem.Usage("uses", "the action is in the workspace ("+actionDir(j.env)+"), where agents can change the code of its post phase",
			"use a released version, as in uses: OWNER/REPOSITORY@v1, or set trust-self: true"))
	}
	if hasPrompts || f.HasUntrustedScripts(j.options.Jobs) {
		err = errors.Join(err, checkLogins(s.git, s.dirs, j.env.Environ))
	}
	return err
}

// whyNotConfined returns why agents are not confined although a cage is wanted, or "" if they are.
func whyNotConfined(in job.Settings) string {
	if in.AllowSudo {
		return "allow-sudo: true turns the cage off"
	}
	return session.WhyNotConfined()
}

// loginFile matches the names of files in which package managers and other tools store credentials.
var loginFile = text.Regexp(`^(?:\.npmrc|\.yarnrc\.yml|\.netrc|\.pypirc|\.git-credentials|gha-creds-.*\.json)$`)

// checkLogins refuses agents and caged scripts if the workspace contains credentials, which they
// could read.
func checkLogins(git *workspace.Git, d dirs, environ []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	needed, _ := workspace.GitDirs(cage.Resolve(d.work))
	isForAgents := job.UsesVertex(environ)
	file, err := git.FindLogin(ctx, confine.Outermost(append(needed, d.top, d.work)), func(name string) bool {
		return loginFile().MatchString(name) && !(isForAgents && strings.HasPrefix(name, "gha-"))
	})
	switch {
	case err == nil:
		return nil
	case file == "":
		return &problem.Problem{Class: problem.ClassDenied, What: "could not search the workspace for credentials: " + err.Error()}
	}
	return &problem.Problem{Class: problem.ClassDenied, Where: file, What: err.Error() + ", and every agent and untrusted script could read it",
		Hint: "set persist-credentials: false at actions/checkout (and create_credentials_file: false at google-github-actions/auth), or remove the file if another step wrote it"}
}

// checkTaint refuses a step that would run, outside of a cage or with secrets, files that agents of an
// earlier step of the job may have written: the workflow's files, and files that inputs name.
func checkTaint(j *Job, d dirs, f *scope.Scope) error {
	isTainted := d.isTainted(f.Path, job.InputValue(j.env.Getenv, "prices")) || j.options.ForNewRun().Command != "" && d.taintedDirs() != nil
	isConfined := !j.options.Cage.IsOff() && whyNotConfined(j.in) == "" && len(j.in.ScriptEnv) == 0 && !f.HasTrustedScripts(j.options.Jobs)
	if isTainted && !isConfined {
		return taintProblem()
	}
	return nil
}

// taintProblem returns the problem that agents or scripts of an earlier step may have written files
// that this step runs.
func taintProblem() error {
	return &problem.Problem{Class: problem.ClassDenied, Where: "input workflow",
		What: "agents or scripts have run in this job and may have changed files that this step uses, so the step may use them only in a cage, without script-env and trusted scripts",
		Hint: "move the step to a separate job with its own checkout"}
}

// refusal returns why a prompt state is refused.
func refusal(name string) string {
	return fmt.Sprintf("the prompt state %s is refused: this step has prompts: false", name)
}

// checkNoPrompts refuses a run with an agent in, or returning to, a prompt state of the step's
// jobs. It is for steps that refuse prompts, before they start anything.
func checkNoPrompts(jobs []string, w *protocol.Workflow, run *state.Run) error {
	for _, p := range run.StateRefs() {
		st, ok := w.State(p.State)
		if ok && st.Kind == protocol.Prompt && slices.Contains(jobs, w.JobOf(p.State)) {
			return &problem.Problem{Class: problem.ClassDenied, Where: run.WorkflowID, What: refusal(p.State),
				Hint: "in the state, set job: to a job that allows prompts"}
		}
	}
	return nil
}

// noPrompts is the backend of a step that refuses prompts. It fails every prompt that the run
// reaches.
type noPrompts struct{}

// Run implements runner.Backend.
func (noPrompts) Run(_ context.Context, o runner.Order, _ func(runner.Progress)) (runner.Answer, error) {
	return runner.Answer{Process: state.Process{ExitCode: -1}, Cost: state.Cost{Silent: true}}, &runner.Failure{Class: runner.Denied, Message: refusal(o.State)}
}

// keyAdvice returns advice about credentials for a run whose agents could not authenticate. The
// agent CLIs' own messages address a user at a terminal. It returns "" for all other runs. w is the
// workflow, or nil if it is not known.
func keyAdvice(run *state.Run, given job.Settings, w *workflow) string {
	for _, a := range run.Agents {
		if a.Failure == nil || !strings.HasPrefix(a.Failure.Message, "authentication: ") {
			continue
		}
		st := &protocol.State{}
		if w != nil {
			if known, ok := w.Workflow.State(a.State); ok {
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
func checkCredentials(j *Job, f *scope.Scope) error {
	env, in := j.env, j.in
	if env.Getenv("RUNNER_ENVIRONMENT") != "github-hosted" || in.NoPrompts {
		return nil
	}
	var errs []error
	for _, backend := range f.SurelyNeededCLIs(j.options.ForNewRun().Backend, j.options.Jobs) {
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
