package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/state"
)

// prepared is the result of prepare: what decides whether a step may start, and the workflow.
type prepared struct {
	source    source
	flow      *flow            // nil in modes that start no agent
	heard     *call            // the comment that has started the step; nil for other events
	isAllowed bool             // the sender of the event may start the workflow
	isTrusted bool             // the checkout may configure the agent CLI
	jobBegan  func() time.Time // may wait for the API
}

func (p *prepared) close() {
	if p.flow != nil {
		p.flow.Close()
	}
	if p.heard != nil {
		p.heard.found.Remove()
	}
}

// prepare reads the inputs of the step, and decides whether the sender of the event may start the
// workflow and whether the checkout may configure the agent CLI.
func prepare(ctx context.Context, s *step) (p prepared, err error) {
	if p.source, err = readInputs(s); err != nil {
		return p, err
	}
	if p.heard, err = hear(ctx, s, p.source); err != nil {
		return p, err
	}
	if err = admit(ctx, s, &p); err != nil {
		return p, err
	}
	if p.source, err = trustedSource(ctx, s, p); err != nil || s.in.Mode != job.ModeRun {
		return p, err
	}
	if err = reserveKey(s); err != nil {
		return p, err
	}
	p.jobBegan = askJobStart(ctx, s)
	p.flow, err = openFlow(s, p.source)
	return p, err
}

// readInputs reads all inputs of the step and reports all mistakes in them at once. In the post
// phase the step already has its directory, and from is empty.
func readInputs(s *step) (from source, err error) {
	in, bad := job.ReadSettings(s.env.Getenv)
	s.in = in
	conceal(s.env, in, s.log)
	var errs []error
	if s.event, err = job.ReadEvent(s.env.Getenv); err != nil {
		errs = append(errs, problem.Usage("event payload", err.Error(), ""))
	}
	var faulty error
	if s.api, s.stored, faulty = openServices(s.env, s.event, in.GitHubToken, s.log.out.AddMask); err == nil { // otherwise the cause may be the missing repository
		errs = append(errs, faulty)
	}
	if len(in.InputFrom) > 0 && err == nil {
		if s.in.Input, err = job.PayloadText(s.env.Getenv("GITHUB_EVENT_PATH"), in.InputFrom); err != nil {
			errs = append(errs, problem.Usage("event payload", err.Error(), ""))
		}
	}
	for _, b := range append(bad, unknownInputs(s.env, s.event, s.log)...) {
		errs = append(errs, b.Usage())
	}
	o, faulty := readFlags(s.env, in, s.log)
	keys, follows, err := readStored(in)
	s.options, s.keys, s.follows, errs = o, keys, follows, append(errs, faulty, err)
	if s.options.Jobs == nil && s.in.Mode == job.ModeRun {
		s.options.Jobs = []string{protocol.MainJob}
	}
	if len(s.in.Part) > 0 && s.in.Resume == job.ResumeAuto {
		s.in.Resume = job.ResumeRequire // a part can't begin without a run
	}
	if len(s.in.Part) > 0 && s.in.Rerun != "" {
		errs = append(errs, problem.Usage("input resume", "can't start a part of a matrix again", "use resume: ID@N without the input part"))
	}
	if isTold(s.event, s.in) && s.in.Rerun != "" { // the new run has begun already and is continued
		s.in.Resume, s.in.Rerun = job.ResumeAuto, ""
	}
	misplaced := func(b job.InputProblem) bool { return b.Input == "working-directory" }
	if !slices.ContainsFunc(bad, misplaced) {
		errs = append(errs, locate(s))
		if !s.isPost {
			from, err = findSource(s.dirs, s.in.Workflow, s.log)
			errs = append(errs, err)
		}
	}
	s.key, err = chooseKey(s.env, s.event, in)
	return from, errors.Join(append(errs, err)...)
}

// unknownInputs returns the inputs that the action doesn't have. act, and Gitea's runner, which is
// based on it, also pass the inputs of a composite action to the steps inside it, and these can't
// be recognized. There the unknown inputs only cause a warning.
func unknownInputs(env Env, e job.Event, log *jobLog) []job.InputProblem {
	found := job.UnknownInputs(env.Environ)
	if !e.IsActBased {
		return found
	}
	for _, f := range found {
		log.warnOnce(f.Usage().Error() + "; it is ignored, because it may belong to a composite action that contains this step")
	}
	return nil
}

// readStored reads the inputs about accepted checkpoints: the state key and the required
// checkpoint.
func readStored(in job.Settings) (keys *checkpoint.Keys, follows slots.Named, err error) {
	if in.StateKey != "" {
		if keys, err = checkpoint.ParseKeys(in.StateKey); err != nil {
			err = problem.Usage("input state-key", err.Error(), "raymond keygen creates one")
		}
	}
	follows, bad := slots.ParseNamed(in.Follows)
	if bad != nil {
		bad = problem.Usage("input follows", bad.Error(), "pass the output on unchanged, as in follows: ${{ needs.JOB.outputs.state-digest }}")
	}
	return keys, follows, errors.Join(err, bad)
}

// readFlags reads the inputs that correspond to flags of raymond run.
func readFlags(env Env, in job.Settings, log *jobLog) (*options.Options, error) {
	args, top, prices := job.Arguments(env.Getenv), env.Getenv("GITHUB_WORKSPACE"), job.InputValue(env.Getenv, "prices")
	file, denied := folders{top: top}.named("prices", top, prices)
	if denied != nil { // ReadJob would read the file
		args = nil
	} else if i := slices.Index(args, "--prices="+prices); i >= 0 {
		args[i] = "--prices=" + file
	}
	o, err := options.ReadJob(args, job.FlagLabel)
	if err = errors.Join(denied, err); err != nil {
		return o, err
	}
	o.ScriptEnv, o.Workspace = in.ScriptEnv, in.Workspace
	if env.Getenv("RUNNER_DEBUG") == "1" { // a user re-runs the job to see everything
		o.Verbosity = runner.VerbosityFull
	} else if !o.Verbose() {
		o.Verbosity = runner.VerbosityBounded
	}
	return o, errors.Join(o.Check(), checkCage(in, o.Cage, log))
}

// cutFlag splits a flag, for example --budget=5, into name and value.
func cutFlag(arg string) (name, value string, ok bool) {
	return strings.Cut(strings.TrimPrefix(arg, "--"), "=")
}

// locate determines the directories of the step, and changes to the working directory.
func locate(s *step) error {
	wd, err := os.Getwd()
	if err != nil {
		return problem.OfMachine("working directory", err)
	}
	s.dirs.top = cmp.Or(s.env.Getenv("GITHUB_WORKSPACE"), wd)
	if info, err := os.Stat(s.dirs.top); err != nil || !info.IsDir() {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "GITHUB_WORKSPACE", What: fmt.Sprintf("%q is not a directory on this machine", s.dirs.top),
			Hint: "an earlier step may have removed the workspace, or a container lacks it"}
	}
	work, err := s.dirs.named("working-directory", s.dirs.top, s.in.WorkingDirectory)
	if err != nil {
		return err
	}
	if s.dirs.work, err = s.env.Process.Enter(work); err != nil {
		return problem.Usage("input working-directory", err.Error(), "name a directory of the workspace that an earlier step has created")
	}
	if !s.isPost {
		if s.dirs.own, err = makeOwn(s); err != nil {
			return err
		}
		s.note.file = filepath.Join(s.dirs.own, stepFile)
	}
	temp := cmp.Or(s.env.Getenv("RUNNER_TEMP"), os.TempDir())
	s.places = checkpoint.MachineDirs{Workspace: strings.TrimRight(s.dirs.top, `/\`), Temp: strings.TrimRight(temp, `/\`), OS: runtime.GOOS}
	s.dirs.all, s.dirs.state = filepath.Dir(s.dirs.own), s.dirs.own
	if s.in.IsLocal() {
		s.dirs.state, err = localDir(s.dirs, s.in, s.event.Repository.Name)
	}
	s.options.StateDir = s.dirs.state
	s.git = newGit(s.env, s.in, s.dirs, s.options.Cage)
	return err
}

// conceal makes the log hide secrets and the values of all variables that inputs name.
func conceal(env Env, in job.Settings, log *jobLog) {
	known := secrets.Of(withoutRunners(env.Environ))
	maps.Copy(known, in.ModelKeys)
	maps.Copy(known, map[string]string{"github-token": in.GitHubToken, "state-key": in.StateKey})
	short := log.hide(known, namedValues(in, inherited(env, in)), slices.Concat(state.Keywords(), clis.Words(), frame(env, in)))
	if len(short) > 0 {
		log.warnOnce("these secrets are too short to be masked, in stored data as well as in logs: " + strings.Join(short, ", "))
	}
}

// namedValues returns the values of the variables that the inputs env and script-env name.
// Variables that the runner sets for every program are not secret only because an input names them.
func namedValues(in job.Settings, environ []string) map[string]string {
	values := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		named := slices.Contains(in.Env, name) || slices.Contains(in.ScriptEnv, name)
		if named && !isRunners(name) {
			values[name] = value
		}
	}
	return values
}

// frame returns the words by which a run is stored and found again. They are never masked.
func frame(env Env, in job.Settings) []string {
	words := []string{in.Key, in.Workflow, in.WorkingDirectory, in.StateDir, in.Resume}
	for _, kv := range env.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if isRunners(name) && !strings.HasSuffix(name, "_TOKEN") || name == "HOME" || name == "PATH" {
			words = append(words, value)
		}
	}
	for _, arg := range job.Arguments(env.Getenv) {
		if name, value, ok := cutFlag(arg); ok && slices.Contains([]string{"model", "effort", "permission-mode"}, name) {
			words = append(words, value)
		}
	}
	return words
}

// isRunners reports whether the runner sets the variable of this name.
func isRunners(name string) bool {
	return name != "GITHUB_TOKEN" && slices.ContainsFunc([]string{"GITHUB_", "RUNNER_", "GITEA_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// withoutRunners returns the environment of the job without variables that only look secret:
// inputs, which are handled separately, and addresses of the runner's services.
func withoutRunners(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		isAddress := strings.HasPrefix(name, "ACTIONS_") || strings.HasPrefix(name, "GITHUB_")
		return strings.HasPrefix(name, "INPUT_") || isAddress && !strings.HasSuffix(name, "_TOKEN")
	})
}
