package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/claude/pin"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/runner/verify"
	"github.com/raymond-action/raymond-action/state"
)

// drive wires one run, or one part of it, and drives it to its end.
type drive struct {
	app      *App
	o        *options
	host     *host
	scope    *scope
	store    *state.File
	run      *state.Run
	resumed  bool
	override *state.Options

	log  *report.Log
	fan  *report.Fanout
	code atomic.Int32 // exit code of the signal that cancelled the run
	when atomic.Int64 // of that signal, in nanoseconds of the epoch
	// orphaned says that who started the run is gone: nobody comes after us.
	orphaned atomic.Bool
}

// dir is the run's own folder below the state folder, absolute.
func (d *drive) dir(sub string) (string, error) {
	return filepath.Abs(filepath.Join(d.o.stateDir, d.run.WorkflowID, sub))
}

// drive brings the run to rest and says how it ended.
func (d *drive) drive() error {
	run, err := d.rest()
	if err != nil {
		return err
	}
	return d.conclude(run)
}

// rest brings the run to rest.
func (d *drive) rest() (*state.Run, error) {
	if err := shell.Adopt(); err != nil {
		return nil, err
	}
	if d.resumed {
		if err := sweep(d.run.Mark); err != nil {
			return nil, err
		}
	}
	run, err := d.start()
	if err == nil && d.host.rest != nil {
		d.host.rest(run)
	}
	if d.fan != nil {
		d.fan.Close()
	}
	return run, err
}

// sweep ends what a run that was killed has left behind.
func sweep(mark string) error {
	if _, err := shell.Sweep(context.Background(), mark); err != nil {
		return &problem.Problem{Class: problem.ClassRuntime, Where: "left-over processes", What: err.Error(), Hint: "end them by hand, then resume again"}
	}
	return nil
}

func (d *drive) start() (*state.Run, error) {
	cfg, err := d.config()
	if err != nil {
		return nil, err
	}
	r := runner.New(cfg, d.run)
	err = r.Run(context.Background(), d.resumed, d.override)
	return r.State(), errors.Join(err, d.tidy())
}

// tidy removes what only a run under way needs.
func (d *drive) tidy() error {
	var out []error
	for _, sub := range []string{"payload", "scope"} {
		dir, err := d.dir(sub)
		if err == nil {
			err = os.RemoveAll(dir)
		}
		out = append(out, err)
	}
	return errors.Join(out...)
}

func (d *drive) config() (runner.Config, error) {
	cfg := runner.Config{
		Workflow: d.scope.workflow, NewID: uuid.NewString, Clock: runner.RealClock(), Telling: d.o.telling,
		Deadline: d.o.deadline, Cancel: d.signals(), Redact: d.host.redact, Checkpoints: d.host.checkpoints,
		ListPrice: prices.Of,
	}
	err := errors.Join(d.folders(&cfg), d.reporters())
	if err != nil {
		return cfg, err
	}
	options := d.run.Options
	if d.override != nil {
		options = *d.override
	}
	agents := &claude.Backend{
		Path: d.host.claude, Args: slices.Concat(d.host.claudeArgs, options.ClaudeArgs), Env: d.host.agents,
		Installer: d.host.installer, NoNewPrivs: d.host.noNewPrivs, Tested: pin.Version(), Proxy: d.host.proxy,
	}
	scripts, err := newRestoring(shell.Backend{Env: d.host.scripts}, cfg.ScriptDir)
	if err != nil {
		return cfg, err
	}
	cfg.Backends = map[protocol.Kind]runner.Backend{protocol.Prompt: agents, protocol.Script: scripts}
	if d.host.prompts != nil {
		cfg.Backends[protocol.Prompt] = d.host.prompts(agents)
	}
	cfg.Verifier = verify.Verifier{Env: d.host.scripts}
	cfg.Sessions, cfg.Store, cfg.Reporter = transcript.Folder{Env: d.host.agents}, &keeper{File: d.store, log: d.log}, d.reporter()
	return cfg, nil
}

// folders makes the folders that the run needs.
func (d *drive) folders(cfg *runner.Config) (err error) {
	if cfg.PayloadDir, err = d.dir("payload"); err != nil {
		return err
	}
	if cfg.LogDir, err = d.dir("logs"); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(cfg.PayloadDir), os.MkdirAll(cfg.PayloadDir, 0o700)); err != nil {
		return err
	}
	if d.o.debugDir != "" {
		if cfg.DebugDir, err = filepath.Abs(d.o.debugDir); err != nil {
			return err
		}
		if err := os.MkdirAll(cfg.DebugDir, 0o700); err != nil {
			return &problem.Problem{Class: problem.ClassUsage, Where: "--debug-dir", What: err.Error()}
		}
	}
	return d.copyScope(cfg)
}

// copyScope makes the private copy that scripts run from. Where nothing is known
// to lead to a script it is made for the case that an agent names one.
func (d *drive) copyScope(cfg *runner.Config) error {
	dir, err := d.dir("scope")
	if err != nil || !d.scope.hasScript() {
		return err
	}
	err = d.scope.privateCopy(dir)
	if err == nil {
		cfg.ScriptDir = dir
		d.app.notePartial(d.scope)
	}
	if d.scope.workflow.HasScripts() {
		return err
	}
	return nil
}

// signals passes on the signals that cancel a run.
func (d *drive) signals() <-chan string {
	raw := make(chan os.Signal, 4)
	names := make(chan string, 4)
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of our output that goes away must not end the run. Caught, not
	// ignored: children would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	end := func(name string, code int32) {
		d.code.CompareAndSwap(0, code)
		d.when.CompareAndSwap(0, time.Now().UnixNano())
		names <- name
	}
	go func() {
		<-d.host.gone // nil for a run without a parent to lose
		d.orphaned.Store(true)
		end(orphanedBy, 143)
	}()
	go func() {
		for reason := range d.host.stop { // nil for a run that only signals end
			end(reason, 0)
		}
	}()
	go func() {
		for s := range raw {
			name, code := "SIGTERM", int32(143)
			switch s {
			case os.Interrupt:
				name, code = "SIGINT", 130
			case syscall.SIGHUP:
				name = "SIGHUP"
			}
			if d.host.signalled != nil {
				name = d.host.signalled(name)
			}
			end(name, code)
		}
	}()
	return names
}

// orphanedBy is what ends a run whose runner is gone.
const orphanedBy = "the runner is gone"

// sinceSignal is how long ago the run was asked to end; negative when it was not.
func (d *drive) sinceSignal() time.Duration {
	at := d.when.Load()
	if at == 0 {
		return -1
	}
	return time.Since(time.Unix(0, at))
}

// conclude prints the result, or says why there is none.
func (d *drive) conclude(run *state.Run) error {
	if run.Progress.Status == state.Completed {
		return d.app.printResult(d.o, run)
	}
	f := verdict(run)
	if d.o.set["state-dir"] {
		again := "resume " + run.WorkflowID
		f.Hint = strings.Replace(f.Hint, again, again+" --state-dir "+d.o.stateDir, 1)
	}
	if f.Class == problem.ClassCancelled {
		f.Code = int(d.code.Load())
	}
	return f
}

// verdict words why a run that is at rest is not completed.
func verdict(run *state.Run) *problem.Problem {
	p := &run.Progress
	again := "raymond resume " + run.WorkflowID
	f := &problem.Problem{Where: run.WorkflowID, What: p.Reason, Hint: "to go on: " + again}
	switch p.Status {
	case state.OverBudget:
		f.Class, f.Hint = problem.ClassOverLimit, fmt.Sprintf("to go on: %s --budget with more than %s", again, run.Spent().Exactly())
	case state.OverIterations:
		f.Class, f.Hint = problem.ClassOverLimit, fmt.Sprintf("to go on: %s --max-iterations with more than %d", again, p.Iterations)
	case state.Suspended:
		f.Class = problem.ClassSuspended
		if !p.Until.IsZero() {
			f.What += fmt.Sprintf(" (until %s)", p.Until.UTC().Format("2006-01-02 15:04 UTC"))
		}
	case state.Cancelled:
		f.Class, f.What = problem.ClassCancelled, "stopped by "+p.Reason
	default:
		f.Class, f.Hint = problem.ClassRunFailed, "to try again: "+again
		f.What += lastAttempt(run)
		for _, a := range run.Agents {
			if a.Failure != nil && a.Failure.Class == string(state.Machine) {
				f.Class = problem.ClassRuntime
			}
		}
	}
	return f
}

// lastAttempt says what was not done in the first agent that has no attempts left:
// the command that failed, its exit code and the end of its output.
func lastAttempt(run *state.Run) string {
	for _, a := range run.Agents {
		if a.Failure == nil {
			continue
		}
		if a.Exec == nil || a.Exec.Verdict == nil || a.Failure.Message != usedUp {
			return ""
		}
		for _, r := range a.Exec.Verdict.Results {
			if r.RC != 0 {
				return fmt.Sprintf("; in its last attempt exit code %d of %q: %s", r.RC, r.Cmd, strings.TrimSpace(text.After(r.Tail, mostTail)))
			}
		}
		return "; in its last attempt " + a.Exec.Verdict.Reason
	}
	return ""
}

// usedUp is the fault of an agent whose state has no attempts left.
const usedUp = "max_ralph_iters_reached"

// mostTail is how many bytes of an output an error of one line has.
const mostTail = 400

// printResult writes the result to stdout, which carries nothing else.
func (a *App) printResult(o *options, run *state.Run) error {
	text, _ := run.Result()
	if o.events == "-" || text == "" {
		return nil
	}
	if text[len(text)-1] != '\n' {
		text += "\n"
	}
	_, err := io.WriteString(a.Stdout, string(text))
	return err
}

// showCompleted is the resume of a run that has nothing left to do. The crash of
// a run that had come to its end may have kept events from its logs.
func (a *App) showCompleted(o *options, run *state.Run) error {
	d := &drive{app: a, o: o, run: run, resumed: true}
	err := d.logs()
	d.fan.Close()
	if err := errors.Join(err, d.tidy()); err != nil {
		return err
	}
	return a.printResult(o, run)
}
