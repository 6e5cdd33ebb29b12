package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sticky"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/runner"

	"github.com/spf13/cobra"
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
	for _, b := range append(bad, x.unknownInputs()...) {
		errs = append(errs, inputFault(b))
	}
	errs = append(errs, x.readFlags(), x.readKeys())
	if guardErr != nil {
		errs = append(errs, &problem.Problem{Class: problem.ClassRuntime, Where: "command files", What: guardErr.Error()})
	}
	var err error
	if x.event, err = job.ReadEvent(getenv); err != nil {
		errs = append(errs, problem.Usage("event payload", err.Error(), ""))
	}
	misplaced := func(b job.Fault) bool { return b.Input == "working-directory" }
	if !slices.ContainsFunc(bad, misplaced) {
		errs = append(errs, x.locate())
		if !x.after {
			errs = append(errs, x.findSource())
		}
	}
	return errors.Join(append(errs, x.chooseKey())...)
}

// unknownInputs are the inputs that the action doesn't have. act, and Gitea's runner,
// which is made of it, give a step inside a composite action that one's inputs too,
// and nobody can tell them apart: there they are warned of, and nothing more.
func (x *action) unknownInputs() []job.Fault {
	found := job.UnknownInputs(x.app.Environ)
	if !x.byAct() {
		return found
	}
	for _, f := range found {
		if !x.after {
			x.warn(inputFault(f).Error() + "; it is passed over, since it may be one of a composite action around this step")
		}
	}
	return nil
}

func inputFault(f job.Fault) error {
	what := f.What
	if f.Value != "" {
		what = strconv.Quote(f.Value) + ": " + what
	}
	return problem.Usage("input "+f.Input, what, f.Hint)
}

// readKeys reads the keys that seal checkpoints, if there are any.
func (x *action) readKeys() (err error) {
	if x.in.StateKey == "" {
		return nil
	}
	if x.keys, err = checkpoint.ParseKeys(x.in.StateKey); err != nil {
		return problem.Usage("input state-key", err.Error(), "raymond keygen makes one")
	}
	return nil
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
		return &problem.Problem{Class: problem.ClassRuntime, Where: "working directory", What: err.Error()}
	}
	x.top = cmp.Or(x.app.Getenv("GITHUB_WORKSPACE"), wd)
	if err := x.enter(); err != nil {
		return err
	}
	if !x.after {
		if err := x.makeOwn(); err != nil {
			return err
		}
	}
	x.dir = x.own
	if x.in.Store == job.StoreLocal {
		x.dir, err = x.localDir()
	}
	return err
}

// enter goes to where agents work.
func (x *action) enter() error {
	if info, err := os.Stat(x.top); err != nil || !info.IsDir() {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "GITHUB_WORKSPACE", What: fmt.Sprintf("%q is no folder of this machine", x.top),
			Hint: "an earlier step may have removed the workspace, or a container lacks it"}
	}
	dir := x.in.WorkingDirectory
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.top, dir)
	}
	if err := os.Chdir(dir); err != nil {
		return problem.Usage("input working-directory", err.Error(), "name a folder of the workspace that an earlier step made")
	}
	return nil
}

// forge is the REST API, for this repository.
func (x *action) forge() (*forge.Client, error) {
	c, err := forge.New(forge.Options{
		URL: x.app.Getenv("GITHUB_API_URL"), GraphQL: x.app.Getenv("GITHUB_GRAPHQL_URL"), Token: x.in.GitHubToken,
		Repository: x.event.Repository.Name, Act: x.underAct(),
	})
	if err != nil {
		return nil, problem.Usage("GITHUB_API_URL", err.Error(), "")
	}
	return c, nil
}

// api asks the forge who may do what.
func (x *action) api() (*job.GitHub, error) {
	c, err := x.forge()
	if err != nil {
		return nil, err
	}
	return job.NewGitHub(c), nil
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
		x.allowed = true
		x.trusted = job.Trusted(x.event, grant)
		if x.in.TrustCheckout != nil {
			x.trusted = *x.in.TrustCheckout
		}
		return nil
	}
	if denied.Unanswered { // a maintainer's event is not to vanish
		return &problem.Problem{Class: problem.ClassStore, Where: "permission", What: denied.Error(), Hint: "nothing was started; run the job again later"}
	}
	f := &problem.Problem{Class: problem.ClassDenied, What: denied.Error(), Hint: denied.Remedy()}
	if x.in.OnDenied == job.OnDeniedSkip {
		x.skipped = true
		x.log.Annotate(annotation("notice", "skipped: "+x.shown(f.Error())))
		return nil
	}
	return f
}
