package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/runner/verify"
	"github.com/raymond-action/raymond-action/state"
)

// simulateCommand runs a workflow with scripted replies, or makes the file of
// replies from a run.
func (a *App) simulateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate PATH --replies FILE",
		Short: "run a workflow with scripted replies in the agent's place: no tokens, no network",
		Long: "simulate runs a workflow with the real engine and the real scripts, and takes what the agents\n" +
			"say from a file. With an \"expect\" part in the file it exits 1, and says what differs, when the\n" +
			"run is not as expected. --record makes such a file from the --debug-dir of a finished run.",
	}
	o := a.newOptions(cmd)
	o.addInputFlags()
	o.addSkipLint()
	o.addLimitFlags()
	o.addLoopFlags()
	o.addOutputFlags()
	var replies, record string
	o.add("replies", "FILE", "what the agents say (YAML)", func(s string) error { replies = s; return notEmpty(s) })
	o.add("record", "DEBUG_DIR", "print the replies file of a finished run", func(s string) error { record = s; return notEmpty(s) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.set["record"] {
			return errors.Join(o.check(), a.record(record, args, o.set["replies"]))
		}
		if !o.set["replies"] {
			o.errs = append(o.errs, problem.Usage("--replies", "is missing", "name a replies file, or make one with --record DEBUG_DIR"))
		}
		if len(args) != 1 {
			return errors.Join(o.check(), a.pathFault(cmd, args))
		}
		if err := o.check(); err != nil {
			return errors.Join(err, badPath(args[0]))
		}
		return a.simulate(o, args[0], replies)
	}
	return cmd
}

// record prints the replies file of a recorded run.
func (a *App) record(dir string, args []string, replies bool) error {
	if dir == "" {
		return nil // told as a bad flag
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return problem.Usage("--record", fmt.Sprintf("%q is no directory", problem.Shorten(dir)), "name the folder that --debug-dir named")
	}
	if len(args) > 0 || replies {
		return problem.Usage("--record", "goes with neither PATH nor --replies", "")
	}
	r, err := simulate.Record(os.DirFS(dir))
	if err != nil {
		return problem.Usage("--record", err.Error(), "name the folder that --debug-dir named")
	}
	return r.Write(a.Stdout)
}

func (a *App) simulate(o *options, path, file string) error {
	s, err := openScope(path)
	if err != nil {
		return err
	}
	defer s.close()
	replies, err := readReplies(file, s)
	if err != nil {
		return errors.Join(s.faulty, err)
	}
	run, err := o.simulatedRun(s, replies)
	if err != nil {
		return err
	}
	if err := a.examine(o, s, len(run.Options.DoneWhen) > 0); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "raymond-simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sim := &simulation{app: a, o: o, scope: s, run: run, replies: replies, dir: dir}
	return sim.drive()
}

// readReplies reads a replies file for a workflow. What is wrong with it is an
// error of class workflow.
func readReplies(path string, s *scope) (*simulate.Replies, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Usage("--replies", err.Error(), "")
	}
	defer f.Close()
	r, problems, err := simulate.Read(f)
	if err != nil {
		return nil, problem.Usage("--replies", err.Error(), "")
	}
	if len(problems) == 0 {
		problems = r.Check(s.workflow)
	}
	return r, problem.OfWorkflow(path, problems)
}

// simulatedRun is the run that flags, workflow and replies describe. Flags win.
func (o *options) simulatedRun(s *scope, replies *simulate.Replies) (*state.Run, error) {
	if !o.set["input"] && !o.set["input-file"] {
		o.input = string(replies.Input)
	}
	for k, v := range replies.Meta {
		if _, given := o.meta[k]; !given {
			o.meta[k] = string(v)
		}
	}
	run, err := o.newRun(s)
	if err != nil {
		return nil, err
	}
	return run, loop(s, &run.Options)
}

// simulation drives one simulated run.
type simulation struct {
	app     *App
	o       *options
	scope   *scope
	run     *state.Run
	replies *simulate.Replies
	dir     string // temporary

	journal simulate.Journal
	fan     *report.Fanout
	driver  *drive // for what a simulation has in common with a run
}

func (s *simulation) drive() error {
	if err := shell.Adopt(); err != nil {
		return err
	}
	cfg, actor, err := s.config()
	if err != nil {
		return err
	}
	r := runner.New(cfg, s.run)
	err = r.Run(context.Background(), false, nil)
	s.fan.Close()
	if err != nil {
		return err
	}
	return s.conclude(r.State(), actor)
}

func (s *simulation) config() (runner.Config, *simulate.Actor, error) {
	cfg := runner.Config{
		Workflow: s.scope.workflow, NewID: uuid.NewString, Telling: s.o.telling, Deadline: s.o.deadline,
		Redact: shell.Redactor(s.app.Environ), Cancel: s.signals(),
		PayloadDir: filepath.Join(s.dir, "payload"), LogDir: filepath.Join(s.dir, "logs"),
	}
	env := childEnviron(s.app.Environ)
	clock := simulate.NewClock(time.Now().Round(0))
	actor := simulate.NewActor(s.replies, clock, shell.Backend{Env: env}, verify.Verifier{Env: env})
	cfg.Clock, cfg.Sessions, cfg.Verifier, cfg.Store = clock.Runner(), actor, actor, actor
	cfg.Backends = actor.Backends()
	return cfg, actor, s.folders(&cfg)
}

func (s *simulation) folders(cfg *runner.Config) (err error) {
	if err := os.Mkdir(cfg.PayloadDir, 0o700); err != nil {
		return err
	}
	if s.o.debugDir != "" {
		if cfg.DebugDir, err = filepath.Abs(s.o.debugDir); err != nil {
			return err
		}
		if err := os.MkdirAll(cfg.DebugDir, 0o700); err != nil {
			return problem.Usage("--debug-dir", err.Error(), "")
		}
	}
	if s.scope.hasScript() {
		cfg.ScriptDir = filepath.Join(s.dir, "scope")
		if err := s.scope.privateCopy(cfg.ScriptDir); err != nil {
			return err
		}
		s.app.notePartial(s.scope)
	}
	err = s.reporters(cfg.DebugDir)
	cfg.Reporter = timeless{s.fan}
	return err
}

// signals passes on what ends the simulation. There is nothing to keep, so the
// first one ends what is under way.
func (s *simulation) signals() <-chan string {
	twice := make(chan string, 2)
	s.driver = &drive{app: s.app, o: s.o, host: s.app.shellHost(s.o), run: s.run}
	names := s.driver.signals()
	go func() {
		name := <-names
		twice <- name
		twice <- name
	}()
	return twice
}

// timeless tells no time: simulated minutes pass in no time at all.
type timeless struct{ *report.Fanout }

// Tick implements runner.Reporter.
func (timeless) Tick(time.Time) {}

func (s *simulation) reporters(debugDir string) error {
	s.fan = report.NewFanout(func(name string, err error) {
		fmt.Fprintln(s.app.Stderr, "raymond: warning: "+text.Escaped(name+": "+err.Error()))
	})
	s.fan.Add("journal", &s.journal)
	console := s.driver.consoleOptions()
	console.WorkflowID = "" // nothing is kept that could be resumed
	s.fan.Add("console", report.NewConsole(s.app.Stderr, console))
	if debugDir != "" {
		s.fan.Add("debug folder", report.NewDebug(debugDir))
	}
	switch s.o.events {
	case "":
		return nil
	case "-":
		s.fan.Add("--events", report.NewLog(s.app.Stdout, s.run.WorkflowID, 0))
		return nil
	}
	log, err := report.OpenLog(s.o.events, s.run.WorkflowID)
	if err != nil {
		return problem.Usage("--events", err.Error(), "")
	}
	log.Restart()
	s.fan.Add("--events", log)
	return nil
}

// conclude compares the run with what was expected. Without an expectation the
// run is judged like any other.
func (s *simulation) conclude(run *state.Run, actor *simulate.Actor) error {
	if run.Progress.Status == state.Cancelled {
		f := verdict(run)
		f.Hint, f.Code = "", int(s.driver.code.Load())
		return f
	}
	for _, left := range actor.Unused() {
		fmt.Fprintf(s.app.Stderr, "raymond: warning: replies that were not used: %s\n", text.Escaped(left))
	}
	diff := s.journal.Diff(s.replies.Expect)
	if missing := actor.Missing(); len(missing) > 0 {
		diff = append(diff, "replies that the file lacks")
		for _, m := range missing {
			diff = append(diff, "+ "+m)
		}
	}
	switch {
	case len(diff) > 0:
		return s.mismatch(diff)
	case s.replies.Expect == nil && run.Progress.Status != state.Completed:
		f := verdict(run)
		f.Hint = ""
		return f
	}
	return s.app.printResult(s.o, run)
}

// mismatch shows a diff.
func (s *simulation) mismatch(diff []string) error {
	for _, line := range diff {
		fmt.Fprintln(s.app.Stderr, text.Escaped(line))
	}
	return &problem.Problem{Class: problem.ClassRunFailed, Where: s.scope.path, What: "the run is not as expected (expected -, came +)",
		Hint: "change the workflow, or the replies file"}
}
