package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// Job is what a step knows once its inputs are read. It does not change: a stage that learns more
// returns another Job.
type Job struct {
	env      Env
	in       job.Settings
	event    job.Event        // its subject is the subject of the run, once the run is found
	options  *options.Options // from the inputs that are flags of raymond run
	keys     *checkpoint.Keys // nil: checkpoints are not sealed
	follows  slots.Named      // the checkpoint that the run must continue from; zero for any
	key      store.Key        // of the run
	api      *job.GitHub
	services store.Services
	machine  checkpoint.MachineDirs
	began    time.Time // when the step was started
	base     string    // the commit that the job checked out; "" for none, or before the run is looked for
	access
	traits traits
}

// traits are the consequences of the inputs store and part. They are all that most code needs to know
// of these inputs.
type traits struct {
	isCheckpointLocal bool          // each saved step counts as stored
	retention         time.Duration // how long runs are stored; 0 without limit
	isBranchBound     bool          // only runs of the own branch and of the default branch accept the checkpoints
	handOverJobs      []string      // the jobs whose scripts may get the agents' work; nil for all
	drivesAll         bool          // the step drives the whole run, not a part of it: it asks, comments, reports and hands over
}

// readInputs reads all inputs of a step, and returns all mistakes in them at once. hasDirs is false if
// the working directory is one of them. The job can be reported about even with an error.
func readInputs(e Env, log *jobLog) (j *Job, hasDirs bool, err error) {
	in, bad := job.ReadSettings(e.Getenv)
	j = &Job{env: e, in: in, options: &options.Options{}, began: time.Now()}
	registerSecrets(e, in, log)
	var errs []error
	if j.event, err = job.ReadEvent(e.Getenv); err != nil {
		errs = append(errs, problem.Usage("event payload", err.Error(), ""))
	}
	api, faulty := forge.New(forge.Options{
		URL: e.Getenv("GITHUB_API_URL"), GraphQL: e.Getenv("GITHUB_GRAPHQL_URL"), Token: in.GitHubToken,
		Repository: j.event.Repository.Name, Act: j.event.IsUnderAct(), Transport: e.Transport,
	})
	switch {
	case faulty == nil:
		j.api = job.NewGitHub(api)
		j.services = store.Connect(api, in.GitHubToken != "", j.event, e.Getenv, log.out.AddMask, e.Transport)
	case err == nil: // otherwise the cause may be the missing repository
		errs = append(errs, problem.Usage("GITHUB_API_URL", faulty.Error(), ""))
	}
	if len(in.InputFrom) > 0 && err == nil {
		if j.in.Input, err = job.PayloadText(e.Getenv("GITHUB_EVENT_PATH"), in.InputFrom); err != nil {
			errs = append(errs, problem.Usage("event payload", err.Error(), ""))
		}
	}
	for _, b := range append(bad, unknownInputs(e, j.event, log)...) {
		errs = append(errs, b.Usage())
	}
	j.options, err = readFlags(e, in, log)
	errs = append(errs, err)
	if in.StateKey != "" {
		if j.keys, err = checkpoint.ParseKeys(in.StateKey); err != nil {
			errs = append(errs, problem.Usage("input state-key", err.Error(), "raymond keygen creates one"))
		}
	}
	if j.follows, err = slots.ParseNamed(in.Follows); err != nil {
		errs = append(errs, problem.Usage("input follows", err.Error(), "pass the output on unchanged, as in follows: ${{ needs.JOB.outputs.state-digest }}"))
	}
	errs = append(errs, resolveModes(j))
	j.key.Name, err = chooseKey(e, j.event, in)
	hasDirs = !slices.ContainsFunc(bad, func(b job.InputProblem) bool { return b.Input == "working-directory" })
	return j, hasDirs, errors.Join(append(errs, err)...)
}

// resolveModes sets what follows from several inputs together.
func resolveModes(j *Job) error {
	if j.options.Jobs == nil && j.in.Mode == job.ModeRun {
		j.options.Jobs = []string{protocol.MainJob}
	}
	isPart := len(j.in.Part) > 0
	var err error
	if isPart && j.in.Rerun != "" {
		err = problem.Usage("input resume", "can't start a part of a matrix again", "use resume: ID@N without the input part")
	}
	if isPart && j.in.Resume == job.ResumeAuto {
		j.in.Resume = job.ResumeRequire // a part can't begin without a run
	}
	if dispatchedKey(j.event, j.in) != "" && j.in.Rerun != "" { // the new run has begun already and is continued
		j.in.Resume, j.in.Rerun = job.ResumeAuto, ""
	}
	isLocal := j.in.IsLocal()
	j.traits = traits{isCheckpointLocal: isLocal, isBranchBound: !isLocal && j.keys == nil, drivesAll: !isPart}
	if !isLocal { // otherwise another job may continue the run on this machine, at any time
		j.traits.handOverJobs, j.traits.retention = j.options.Jobs, time.Duration(j.in.RetentionDays)*24*time.Hour
	}
	if no := false; isPart || isLocal && j.in.Report == nil {
		j.in.Report = &no
	}
	if isPart {
		j.in.Comment = job.CommentNone // all parts would write to the same comment
	}
	return err
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

// readFlags reads the inputs that correspond to flags of raymond run.
func readFlags(env Env, in job.Settings, log *jobLog) (*options.Options, error) {
	args, top, prices := job.Arguments(env.Getenv), env.Getenv("GITHUB_WORKSPACE"), job.InputValue(env.Getenv, "prices")
	file, denied := dirs{top: top}.named("prices", top, prices)
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

// registerSecrets makes the log hide secrets and the values of all variables that inputs name.
func registerSecrets(env Env, in job.Settings, log *jobLog) {
	known := secrets.Of(slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		// These only look secret: inputs, which are handled separately, and addresses of the runner's services.
		name, _, _ := strings.Cut(kv, "=")
		isAddress := strings.HasPrefix(name, "ACTIONS_") || strings.HasPrefix(name, "GITHUB_")
		return strings.HasPrefix(name, "INPUT_") || isAddress && !strings.HasSuffix(name, "_TOKEN")
	}))
	maps.Copy(known, in.ModelKeys)
	maps.Copy(known, map[string]string{"github-token": in.GitHubToken, "state-key": in.StateKey})
	named := map[string]string{}
	for _, kv := range inheritedEnviron(env, in) {
		name, value, _ := strings.Cut(kv, "=")
		// Variables that the runner sets for every program are not secret only because an input names them.
		if (slices.Contains(in.Env, name) || slices.Contains(in.ScriptEnv, name)) && !isSetByRunner(name) {
			named[name] = value
		}
	}
	short := log.registerSecrets(known, named, slices.Concat(state.Keywords(), clis.Words(), unmaskedWords(env, in)))
	if len(short) > 0 {
		log.warnOnce("these secrets are too short to be masked, in stored data as well as in logs: " + strings.Join(short, ", "))
	}
}

// unmaskedWords returns the words by which a run is stored and found again. They are never masked.
func unmaskedWords(env Env, in job.Settings) []string {
	words := []string{in.Key, in.Workflow, in.WorkingDirectory, in.StateDir, in.Resume}
	for _, kv := range env.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if isSetByRunner(name) && !strings.HasSuffix(name, "_TOKEN") || name == "HOME" || name == "PATH" {
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

// isSetByRunner reports whether the runner sets the variable of this name.
func isSetByRunner(name string) bool {
	return name != "GITHUB_TOKEN" && slices.ContainsFunc([]string{"GITHUB_", "RUNNER_", "GITEA_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// inheritedEnviron returns the environment from which agents and scripts get some variables. It
// includes the job's token, for inputs that name it.
func inheritedEnviron(env Env, in job.Settings) []string {
	all := slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		// Children don't have the shim's pipe as stdin, and must not learn where the shim is.
		return strings.HasPrefix(kv, shell.ShimStdin+"=") || strings.HasPrefix(kv, shimVariable+"=")
	})
	if env.Getenv("GITHUB_TOKEN") == "" && in.GitHubToken != "" {
		all = append(all, "GITHUB_TOKEN="+in.GitHubToken)
	}
	return all
}

// isPublic reports whether anyone can read the artifacts of the repository. A repository that is
// not known to be private counts as public.
func isPublic(j *Job) bool {
	if private := j.event.Repository.Private; private != nil {
		return !*private
	}
	if j.in.GitHubToken == "" {
		return true
	}
	private, err := j.api.IsPrivate(context.Background())
	return err != nil || !private
}

// chooseKey returns the key of the run. A key from the event takes precedence over the step's own.
func chooseKey(env Env, e job.Event, in job.Settings) (key string, err error) {
	key = cmp.Or(dispatchedKey(e, in), in.Key, job.DefaultKey(env.Getenv, e, in.Matrix))
	if in.Key == "" && in.Mode == job.ModeRun && in.IsCalled {
		err = problem.Usage("input key", "is missing: a job of a reusable workflow has no default key, because the action can't distinguish two calls of that workflow",
			"add an input to the reusable workflow, let each caller pass a key, and set key to it")
	}
	return key, err
}

// dispatchedKey returns the key of the run that a workflow_dispatch event asks to continue, or "". Every
// user who may dispatch the workflow controls this text, so it is only compared with the keys of
// runs that this repository's own jobs have stored, and this step stores under it only if a run was
// found under it. Other events may carry text of strangers, so their input is ignored.
func dispatchedKey(e job.Event, in job.Settings) string {
	if e.Name != "workflow_dispatch" || in.Mode != job.ModeRun {
		return ""
	}
	return cmp.Or(in.RaymondKey, e.Dispatched)
}

// reserveKey keeps two steps of a job from sharing a key by accident: it returns a problem if an
// earlier step has used the same default key.
func reserveKey(j *Job, d dirs) error {
	name := digestOf(fmt.Sprintf("%q %d %d %q %q %q", j.event.Repository.Name, j.event.RunID, j.event.Attempt, j.event.Job, j.in.Matrix, j.key.Name))
	dir := filepath.Join(d.all, keysDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return problem.OfMachine("RUNNER_TEMP", err)
	}
	err := os.Mkdir(filepath.Join(dir, name), 0o700)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist) && (j.in.Key != "" || dispatchedKey(j.event, j.in) != ""):
		return nil
	case errors.Is(err, fs.ErrExist):
		return problem.Usage("input key", fmt.Sprintf("is missing: an earlier step of this job has used the default, %q", j.key.Name),
			"give this step its own key, or name the same key to continue the earlier step's run")
	}
	return problem.OfMachine("RUNNER_TEMP", err)
}

// keyOriginOf returns which job a key belongs to, for a run that this step begins.
func keyOriginOf(j *Job) *checkpoint.KeyOrigin {
	return &checkpoint.KeyOrigin{Job: j.event.Job, Matrix: j.in.Matrix, Default: j.in.Key == ""}
}

// inheritedKeyOrigin returns which jobs a key belongs to, for a run that this step resumes. was is the
// value in the run's checkpoint, or nil for none.
func inheritedKeyOrigin(j *Job, was *checkpoint.KeyOrigin) *checkpoint.KeyOrigin {
	switch now := keyOriginOf(j); {
	case was == nil:
		return now
	case was.Matrix == now.Matrix:
		return was.WithJob(now.Job)
	}
	return was
}

// mayResume reports whether the step may resume a run whose key comes from the marker of a comment or
// from the input raymond-key rather than from the step's own inputs. If not, the step ends with the
// text of notResumable before it has begun anything.
func mayResume(j *Job, m *checkpoint.Manifest) bool {
	return slots.Taker{
		Key: j.in.Key, Job: j.event.Job, Matrix: j.in.Matrix, RunID: j.event.RunID, NamesJob: j.in.NamesJob,
		Called: j.in.IsCalled,
	}.MayTake(m)
}

// notResumable returns the line with which a step ends that may not continue a run.
func notResumable(log *jobLog, m *checkpoint.Manifest) string {
	whose := "another job"
	if m.KeyOrigin != nil && m.KeyOrigin.Job != "" {
		whose = "job " + m.KeyOrigin.Job
	}
	return log.shown("nothing is started: the run with the key " + m.Key + " is continued by " + whose + ", or by a step that names this key")
}
