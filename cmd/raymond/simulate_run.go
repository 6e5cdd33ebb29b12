package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// simulate runs a workflow with scripted replies instead of agents. It uses the real engine and runs the
// real scripts, but no model and no network. It returns an error if there is a problem, or if the run
// differs from the expected one.
func (a *App) simulate(o *options.Options, path, file string) error {
	s, err := scope.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	var replies *simulate.Replies
	var problems []protocol.Problem
	f, err := os.Open(file)
	if err == nil {
		replies, problems, err = simulate.Read(f)
		defer f.Close()
	}
	if err != nil {
		return errors.Join(s.StartError, problem.Usage("--replies", err.Error(), ""))
	}
	if len(problems) == 0 {
		problems = replies.Check(s.Workflow)
	}
	if len(problems) > 0 {
		return errors.Join(s.StartError, problem.OfWorkflow(file, problems))
	}
	if !o.IsGiven("input") && !o.IsGiven("input-file") {
		o.Input = string(replies.Input)
	}
	for k, v := range replies.Meta {
		if _, given := o.Meta[k]; !given {
			o.Meta[k] = string(v)
		}
	}
	run, warnings, err := session.NewRun(o, s, ".")
	if err != nil {
		return err
	}
	if !o.Quiet {
		if dir, err := os.Getwd(); err == nil && s.HasScripts() {
			fmt.Fprintln(a.Stderr, "raymond: note: "+text.Escape("scripts really run, in "+dir+"; only the replies of agents come from "+file))
		}
		for _, w := range warnings {
			a.warn(w)
		}
	}
	dir, err := os.MkdirTemp("", "raymond-simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return a.play(session.Setup{Options: o, Scope: s, Run: run, Dir: dir, Stdout: a.Stdout, Stderr: a.Stderr}, replies)
}

// play drives a simulated run until it stops, and compares it with the expected run in replies.
func (a *App) play(u session.Setup, replies *simulate.Replies) error {
	env, stops := session.Environ(a.Environ), session.Listen(session.StopOptions{})
	u.Env, u.Config.Redact, u.Stops = session.Env{Common: env, Trusted: env}, secrets.NewRedactor(a.Environ).Text, stops
	s, err := session.Open(u)
	if err != nil {
		return err
	}
	clock := simulate.NewClock(time.Now().Round(0))
	actor := simulate.NewActor(replies, clock, shell.Backend{Env: env, Trusted: env}, shell.Verifier{Env: env})
	people := simulate.NewPeople(replies)
	cfg := &s.Config
	cfg.Clock, cfg.Prompter, cfg.Hold = people.Runner(clock), people, options.Endless
	cfg.Agents, cfg.Scripts, cfg.Verifier, cfg.Store = actor.Agents(), actor.Scripts(), actor, actor
	cfg.Reporter, cfg.Cancel = timeless{s.Events}, repeatReason(stops.Reasons())
	*s.Events.Model = *report.NewModel() // a new model, because the expected run is compared with all events
	s.Events.Add("console", report.NewConsole(a.Stderr, s.Events.Model, a.consoleOptions(u.Options, "")))
	run, err := s.Run(context.Background())
	s.Close()
	if err != nil {
		return err
	}
	ended := session.StopProblem(run, "") // the hint is removed, because a simulation can't be resumed
	ended.Hint = ""
	if run.Progress.Status == state.Cancelled {
		ended.Code = stops.ExitCode()
		return ended
	}
	for _, left := range slices.Concat(actor.Unused(), people.Unused()) {
		a.warn("unused replies: " + left)
	}
	diff := slices.Concat(replies.Expect.Diff(s.Events.Model), addedLines("replies missing in the file", actor.Missing()),
		addedLines("answers that are not one of the choices", people.Wrong()))
	for _, line := range diff {
		fmt.Fprintln(a.Stderr, text.Escape(line))
	}
	switch {
	case len(diff) > 0:
		return &problem.Problem{Class: problem.ClassRunFailed, Where: run.Scope, What: "the run differs from the expected one (expected -, actual +)",
			Hint: "change the workflow, or the replies file"}
	case replies.Expect == nil && run.Progress.Status != state.Completed:
		return ended
	}
	return session.PrintResult(a.Stdout, u.Options.Events, run)
}

// repeatReason sends the first reason to end the run twice. The second one ends running states
// immediately. That is needed because time is simulated, so running states would otherwise be given all
// the time that they take. A simulation has no state to save.
func repeatReason(reasons <-chan string) <-chan string {
	out := make(chan string, 2)
	go func() {
		reason := <-reasons
		out <- reason
		out <- reason
	}()
	return out
}

// timeless is a reporter that ignores the passing of time, because simulated minutes pass in an instant.
type timeless struct{ *report.Fanout }

func (timeless) Tick(time.Time) {}

// addedLines formats unexpected lines as the added lines of a diff.
func addedLines(title string, came []string) []string {
	if len(came) == 0 {
		return nil
	}
	lines := []string{title}
	for _, line := range came {
		lines = append(lines, "+ "+line)
	}
	return lines
}
