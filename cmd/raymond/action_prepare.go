package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sticky"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/mask"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// prepare reads everything that the step was given, and reports all that is
// wrong with it at once.
func (x *action) prepare() error {
	getenv := x.app.Getenv
	files, guardErr := job.Guard(getenv)
	x.files = files
	in, bad := job.ReadSettings(getenv)
	x.in = in
	x.conceal()
	var errs []error
	for _, b := range append(bad, job.UnknownInputs(x.app.Environ)...) {
		errs = append(errs, inputFault(b))
	}
	errs = append(errs, x.readFlags(), x.readKeys())
	if guardErr != nil {
		errs = append(errs, &fault{class: classRuntime, where: "command files", what: guardErr.Error()})
	}
	var err error
	if x.event, err = job.ReadEvent(getenv); err != nil {
		errs = append(errs, usage("event payload", err.Error(), ""))
	}
	misplaced := func(b job.Fault) bool { return b.Input == "working-directory" }
	if !slices.ContainsFunc(bad, misplaced) {
		errs = append(errs, x.locate())
		if !x.after {
			errs = append(errs, x.findSource())
		}
	}
	x.key = cmp.Or(x.in.Key, job.DefaultKey(getenv, x.event))
	return errors.Join(errs...)
}

func inputFault(f job.Fault) error {
	what := f.What
	if f.Value != "" {
		what = strconv.Quote(f.Value) + ": " + what
	}
	return usage("input "+f.Input, what, f.Hint)
}

// conceal learns the secrets of the job, and tells the runner of ours.
func (x *action) conceal() {
	values := shell.Secrets(x.ours())
	for name, value := range map[string]string{
		"anthropic-api-key": x.in.AnthropicAPIKey, "claude-code-oauth-token": x.in.ClaudeCodeToken,
		"github-token": x.in.GitHubToken, "state-key": x.in.StateKey,
	} {
		values[name] = value
	}
	var short []string
	x.mask, short = mask.New(values)
	for _, v := range x.mask.Values() {
		x.log.AddMask(v)
	}
	if len(short) > 0 && !x.after {
		x.warn("these secrets are too short to be masked in what is stored and shown: " + strings.Join(short, ", "))
	}
}

// readKeys reads the keys that seal checkpoints, if there are any.
func (x *action) readKeys() (err error) {
	if x.in.StateKey == "" {
		return nil
	}
	if x.keys, err = checkpoint.ParseKeys(x.in.StateKey); err != nil {
		return usage("input state-key", err.Error(), "raymond keygen makes one")
	}
	return nil
}

// ours is the job's environment without what only looks secret: inputs, of which
// each is known to be one or not, and addresses of the runner's services.
func (x *action) ours() []string {
	var out []string
	for _, kv := range x.app.Environ {
		name, _, _ := strings.Cut(kv, "=")
		runners := strings.HasPrefix(name, "ACTIONS_") || strings.HasPrefix(name, "GITHUB_")
		if !strings.HasPrefix(name, "INPUT_") && (!runners || strings.HasSuffix(name, "_TOKEN")) {
			out = append(out, kv)
		}
	}
	return out
}

// readFlags reads the inputs that are flags of raymond run.
func (x *action) readFlags() error {
	cmd := &cobra.Command{Use: "action"}
	x.o = x.app.addFlags(cmd)
	x.o.label = func(flag string) string { return "input " + cmp.Or(job.FlagInput("--"+flag), flag) }
	if err := cmd.Flags().Parse(x.flags()); err != nil {
		return err
	}
	x.o.telling = runner.TellBounded
	if x.app.Getenv("RUNNER_DEBUG") == "1" { // somebody re-runs the job to see everything
		x.o.telling = runner.TellAll
	}
	return x.o.check()
}

// flags are the inputs that are flags of raymond run.
func (x *action) flags() []string { return job.Arguments(x.app.Getenv) }

// cutFlag splits a flag such as --budget=5.
func cutFlag(arg string) (name, value string, ok bool) {
	return strings.Cut(strings.TrimPrefix(arg, "--"), "=")
}

// locate finds the folders of the step, and goes where agents work.
func (x *action) locate() error {
	wd, err := os.Getwd()
	if err != nil {
		return &fault{class: classRuntime, where: "working directory", what: err.Error()}
	}
	x.top = cmp.Or(x.app.Getenv("GITHUB_WORKSPACE"), wd)
	dir := x.in.WorkingDirectory
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.top, dir)
	}
	if err := os.Chdir(dir); err != nil {
		return usage("input working-directory", err.Error(), "name a folder of the workspace that an earlier step made")
	}
	if x.in.Store == job.StoreLocal {
		x.dir = x.in.StateDir
		if !filepath.IsAbs(x.dir) {
			x.dir = filepath.Join(x.top, x.dir)
		}
		return nil
	}
	x.dir = stepDir(x.app.Getenv)
	return nil
}

// stepDir is where a step keeps its state: never in the checkout. The post part
// of the step finds it again by the same names.
func stepDir(getenv func(string) string) string {
	temp := cmp.Or(getenv("RUNNER_TEMP"), os.TempDir())
	name := fileName(cmp.Or(getenv("GITHUB_JOB"), "job")) + "-" + fileName(cmp.Or(getenv("GITHUB_ACTION"), "step"))
	return filepath.Join(temp, "raymond", name)
}

// fileName replaces what file names of some system can't hold.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, s)
}

// api is the forge's REST API.
func (x *action) api() (*job.GitHub, error) {
	api, err := job.NewGitHub(job.GitHubOptions{
		URL: x.app.Getenv("GITHUB_API_URL"), GraphQL: x.app.Getenv("GITHUB_GRAPHQL_URL"), Token: x.in.GitHubToken,
		Repository: x.event.Repository,
	})
	if err != nil {
		return nil, usage("GITHUB_API_URL", err.Error(), "")
	}
	return api, nil
}

// authorize asks whether who caused the event may start the workflow, and
// whether the checkout may configure the agent CLI.
func (x *action) authorize(ctx context.Context) error {
	if sticky.IsMarked(x.event.Comment) {
		// With a token other than the job's own, each edit would start the next run.
		x.skipped = true
		x.log.Annotate(annotation("notice", "skipped: the event is about a comment that this action keeps"))
		return nil
	}
	api, err := x.api()
	if err != nil {
		return err
	}
	if err := api.FindHead(ctx, &x.event); err != nil {
		x.warn("where the code of this event comes from can't be found out: " + err.Error())
	}
	grant, denied := job.Authorize(ctx, x.in.Rules, x.event, api)
	if denied == nil {
		x.trusted = job.Trusted(x.event, grant)
		if x.in.TrustCheckout != nil {
			x.trusted = *x.in.TrustCheckout
		}
		return nil
	}
	f := &fault{class: classDenied, what: denied.Error(), hint: "allowed by the input " + denied.Setting}
	if x.in.OnDenied == job.OnDeniedSkip {
		x.skipped = true
		x.log.Annotate(annotation("notice", "skipped: "+x.mask.Text(f.Error())))
		return nil
	}
	return f
}
