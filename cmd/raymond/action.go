package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/outlook"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// action is one step of a job: what action.yml starts.
type action struct {
	app   *App
	o     *options // what inputs say for which raymond run has flags
	in    job.Settings
	event job.Event
	key   string // identity of the run
	wide  string // the default key that all legs of a matrix would have; "" where the key is no default
	log   *job.Commands
	files *job.Files
	hidden
	keys  *checkpoint.Keys // nil: checkpoints are not sealed
	top   string           // the job's workspace
	own   string           // the folder of this step alone
	dir   string           // where the state is kept: in own, or with store: local where the job says
	note  stepNote
	talks *sessionNotes // nil: nobody removes them
	claim *claim        // this step's hold on the key; nil for none

	allowed bool // who caused the event may start the workflow
	trusted bool // the checkout may configure the agent CLI
	skipped bool // on-denied: skip
	after   bool // this is the post part of the step
	notes   []string
	summary *report.Summary // nil: there is none
	mute    bool            // the summary can't be written
	comment *comment        // nil: there is none
	owed    owed            // what is still to be shown of a run
	owedBy  string          // its id; "" for none
	scope   *scope
	source  string // where the workflow is read from
	place   string // of the source in the repository, when it is read from elsewhere
	base    string // the commit that the job was checked out at; "" for none
	depot   *depot // where checkpoints go; nil when they go nowhere
	services
	began   began    // how the run began
	differs []string // what a run that goes on found different, in whole sentences
	losses  []string // what this run will not be able to do later, to be said before it spends

	gone      <-chan struct{} // closed when the runner is
	run       *state.Run      // nil as long as there is none
	code      int             // of the signal that cancelled it; 0 for none
	stored    string          // name of the artifact with the last checkpoint
	endStored bool            // that has the end of the run
	isLast    bool            // no post part follows, since the runner is gone
	byPost    bool            // the post part has stored it
	unkept    string          // why nothing of the run may be stored; "" when it may
	blind     bool            // later workflow runs can't look for the run
	flow      []byte          // the job's workflow file; nil where it can't be read
	next      outlook.Outlook

	sinceSignal func() time.Duration // how long ago the run was asked to end; nil before it began
}

// actionCommand is the main part of a step.
func (a *App) actionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "run a workflow as a step of a job (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.action() },
	}
}

func (a *App) action() error {
	// First of all: nothing that the step starts may read our memory.
	err := shell.Undumpable()
	gone, out := a.watchRunner()
	x := &action{app: a, gone: gone, log: job.NewCommands(out, a.Getenv("GITHUB_WORKSPACE"))}
	defer x.log.Close()
	if err == nil {
		err = x.perform(context.Background())
	}
	return x.conclude(err)
}

// perform does what the inputs ask for.
func (x *action) perform(ctx context.Context) error {
	if err := x.prepare(); err != nil {
		return err
	}
	if err := x.authorize(ctx); err != nil || x.skipped {
		return err
	}
	if x.in.Mode == job.ModeRun {
		if err := x.reserveKey(); err != nil {
			return err
		}
	}
	if !x.trusted && !x.isBuiltin() {
		if err := x.takeCommitted(ctx); err != nil {
			return err
		}
	}
	if x.in.Mode != job.ModeRun {
		return x.tool()
	}
	return x.drive(ctx)
}

// tool does one of the modes that start no agent, as the command of that name
// does it.
func (x *action) tool() error {
	args := []string{x.in.Mode, x.inWorkspace(x.source)}
	switch x.in.Mode {
	case job.ModeLint:
		args = append(args, "--format=github")
		for key := range x.o.meta {
			args = append(args, "--meta="+key)
		}
	case job.ModeSimulate:
		args = append(args, "--replies="+x.in.Replies)
		args = append(args, x.simulated()...)
	}
	var out bytes.Buffer
	// A simulation runs the scripts: with what they may see, and no more.
	env := job.ScriptEnviron(x.inherited(), slices.Concat(x.in.Env, x.in.ScriptEnv))
	inner := &App{Args: args, Environ: env, Stdout: &out, Stderr: &out}
	if x.in.Mode == job.ModeLint {
		x.log.Close() // its annotations are commands
		inner.Stdout = x.app.Stdout
	}
	code := inner.Main()
	if err := x.showOutput(out.String()); err != nil {
		return err
	}
	return failedTool(code)
}

// inWorkspace is a path as annotations want it, relative to the workspace, where
// that leads to the same file.
func (x *action) inWorkspace(path string) string {
	wd, err := os.Getwd()
	rel, outside := filepath.Rel(x.top, path)
	if err != nil || outside != nil || wd != filepath.Clean(x.top) || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// failedTool is the fault of a tool that has told by itself what is wrong.
func failedTool(code int) error {
	for class, c := range problem.ExitCodes {
		if c == code {
			return &problem.Problem{Class: class, Code: code, Told: true}
		}
	}
	return nil
}

// simulated are the inputs that raymond simulate has flags for.
func (x *action) simulated() []string {
	known := x.app.simulateCommand().Flags()
	var args []string
	for _, arg := range x.flags() {
		if name, _, _ := cutFlag(arg); known.Lookup(name) != nil {
			args = append(args, arg)
		}
	}
	if x.in.Input != "" {
		args = append(args, "--input="+x.in.Input)
	}
	return args
}

// showOutput shows the text of a tool in log and summary.
func (x *action) showOutput(s string) error {
	if s == "" {
		return nil
	}
	s = x.shown(s)
	x.log.Print(s)
	if !x.in.Summary {
		return nil
	}
	language := ""
	if x.in.Mode == job.ModeDiagram {
		language = "mermaid"
	}
	err := x.files.WriteSummary(text.Fence(s, language))
	if err != nil {
		x.warn("step summary: " + err.Error())
	}
	return nil
}

// warn tells something that ends nothing.
func (x *action) warn(text string) {
	x.log.Annotate(annotation("warning", x.shown(text)))
}
