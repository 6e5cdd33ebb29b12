package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
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
	"github.com/raymond-action/raymond-action/state"
)

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

// checkHeld refuses a step that would give agents more access than they may have.
func checkHeld(s *step, f *scope.Scope) error {
	hasPrompts := !s.in.NoPrompts && f.HasPromptsOf(s.options.Jobs)
	err := errors.Join(session.CheckScriptEnv(s.options, f, hasPrompts, unheld(s.in.AllowSudo)), checkAfterAgents(s, f))
	if s.options.Cage.IsOff() {
		return err
	}
	// Agents could write the JavaScript of the step's post phase.
	if own := cage.Resolve(actionFolder(s.env)); hasPrompts && own != "" && !s.in.TrustSelf && cage.IsWithin(own, cage.Resolve(s.dirs.top)) {
		err = errors.Join(err, problem.Usage("uses", "the action is in the workspace ("+actionFolder(s.env)+"), where agents can change the code of its post phase",
			"use a released version, as in uses: OWNER/REPOSITORY@v1, or set trust-self: true"))
	}
	if hasPrompts || f.HasUntrustedScripts(s.options.Jobs) {
		err = errors.Join(err, checkLogins(s.git, s.dirs, s.env.Environ))
	}
	return err
}

// unheld returns why agents are not confined although a cage is wanted, or "" if they are.
func unheld(allowSudo bool) string {
	if allowSudo {
		return "allow-sudo: true turns the cage off"
	}
	return session.WhyNotConfined()
}

// loginFile matches the names of files in which package managers and other tools store credentials.
var loginFile = text.Regexp(`^(?:\.npmrc|\.yarnrc\.yml|\.netrc|\.pypirc|\.git-credentials|gha-creds-.*\.json)$`)

// checkLogins refuses agents and caged scripts if the workspace contains credentials, which they
// could read.
func checkLogins(git *workspace.Git, dirs folders, environ []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	needed, _ := workspace.GitDirs(cage.Resolve(dirs.work))
	isForAgents := job.UsesVertex(environ)
	file, err := git.FindLogin(ctx, confine.Outermost(append(needed, dirs.top, dirs.work)), func(name string) bool {
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

// checkAfterAgents refuses a step that would run, outside of a cage or with secrets, files that
// agents of an earlier step of the job may have written: the workflow's files, and files that
// inputs name.
func checkAfterAgents(s *step, f *scope.Scope) error {
	isTheirs := isOfAgents(s.dirs, f.Path, job.InputValue(s.env.Getenv, "prices")) || s.options.ForNewRun().Command != "" && afterAgents(s.dirs) != nil
	isHeld := !s.options.Cage.IsOff() && unheld(s.in.AllowSudo) == "" && len(s.in.ScriptEnv) == 0 && !f.HasTrustedScripts(s.options.Jobs)
	if isTheirs && !isHeld {
		return lateProblem()
	}
	return nil
}

// lateProblem returns the problem that agents or scripts of an earlier step may have written files
// that this step runs.
func lateProblem() error {
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
func checkNoPrompts(jobs []string, b *readyRun) error {
	for _, p := range b.run.StateRefs() {
		st, ok := b.flow.Workflow.State(p.State)
		if ok && st.Kind == protocol.Prompt && slices.Contains(jobs, b.flow.Workflow.JobOf(p.State)) {
			return &problem.Problem{Class: problem.ClassDenied, Where: b.run.WorkflowID, What: refusal(p.State),
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
