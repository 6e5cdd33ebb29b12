package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/options"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/runner/simulate"
	"github.com/raymond-action/raymond-action/state"
)

// Simulation is a run with scripted replies in the agents' place, and where it is shown: the real
// engine, the real scripts, no tokens and no network.
type Simulation struct {
	Options *options.Options
	Path    string // of the workflow
	Replies string // file of replies
	Environ []string
	Console report.ConsoleOptions
	Stdout  io.Writer
	Stderr  io.Writer
}

// AddSimulationFlags defines the flags of a run that a simulation has too.
func AddSimulationFlags(o *options.Options) {
	o.AddInput()
	o.AddSkipLint()
	o.AddLimits()
	o.AddLoop()
	o.AddOutput()
}

// Run simulates. Its error says what is wrong, or that the run is not as expected.
func (s Simulation) Run(ctx context.Context) error {
	files, err := scope.Open(s.Path)
	if err != nil {
		return err
	}
	defer files.Close()
	replies, err := readReplies(s.Replies, files)
	if err != nil {
		return errors.Join(files.Faulty, err)
	}
	s.take(replies)
	run, warnings, err := NewRun(s.Options, files, ".")
	if err != nil {
		return err
	}
	if !s.Options.Quiet {
		if dir, err := os.Getwd(); err == nil && files.HasScripts() {
			fmt.Fprintln(s.Stderr, "raymond: note: "+text.Escaped("scripts run as in a run, in "+dir+"; only what agents say comes from "+s.Replies))
		}
		for _, w := range warnings {
			s.warn(problem.Bounded(w))
		}
	}
	dir, err := os.MkdirTemp("", "raymond-simulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return s.drive(ctx, Setup{Options: s.Options, Scope: files, Run: run, Dir: dir}, replies)
}

func (s Simulation) warn(line string) {
	fmt.Fprintln(s.Stderr, "raymond: warning: "+text.Escaped(line))
}

// readReplies reads a replies file for a workflow. What is wrong with it is an
// error of class workflow.
func readReplies(path string, s *scope.Scope) (*simulate.Replies, error) {
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
		problems = r.Check(s.Workflow)
	}
	return r, problem.OfWorkflow(path, problems)
}

// take takes input and template variables from the replies file, unless flags say
// otherwise.
func (s Simulation) take(replies *simulate.Replies) {
	if !s.Options.IsGiven("input") && !s.Options.IsGiven("input-file") {
		s.Options.Input = string(replies.Input)
	}
	for k, v := range replies.Meta {
		if _, given := s.Options.Meta[k]; !given {
			s.Options.Meta[k] = string(v)
		}
	}
}

func (s Simulation) drive(ctx context.Context, u Setup, replies *simulate.Replies) error {
	env := Environ(s.Environ)
	stops := Listen(StopOptions{})
	u.Env, u.Config.Redact, u.Stops = Env{Common: env, Trusted: env}, secrets.NewRedactor(s.Environ).Text, stops
	u.Stdout, u.Stderr = s.Stdout, s.Stderr
	o, err := Open(u)
	if err != nil {
		return err
	}
	clock := simulate.NewClock(time.Now().Round(0))
	actor := simulate.NewActor(replies, clock, shell.Backend{Env: env, Trusted: env}, shell.Verifier{Env: env})
	people := simulate.NewPeople(replies)
	cfg := &o.Config
	cfg.Clock, cfg.People, cfg.Hold = people.Runner(clock), people, options.Endless
	cfg.Agents, cfg.Scripts, cfg.Verifier, cfg.Store = actor.Agents(), actor.Scripts(), actor, actor
	cfg.Reporter, cfg.Cancel = timeless{o.Events}, twice(stops.Reasons())
	*o.Events.Model = *report.NewModel() // all of the run is compared with what was expected
	o.Events.Add("console", report.NewConsole(s.Stderr, o.Events.Model, s.Console))
	run, err := o.Run(ctx)
	o.Close()
	if err != nil {
		return err
	}
	if run.Progress.Status == state.Cancelled {
		p := Outcome(run, "")
		p.Hint, p.Code = "", stops.ExitCode()
		return p
	}
	for _, left := range slices.Concat(actor.Unused(), people.Unused()) {
		s.warn("replies that were not used: " + left)
	}
	diff := slices.Concat(replies.Expect.Diff(o.Events.Model), added("replies that the file lacks", actor.Missing()),
		added("answers that are none of the choices", people.Wrong()))
	return s.compare(run, replies, diff)
}

// twice passes each reason to end on a second time: a simulation has nothing to
// keep, so the first one ends what is under way.
func twice(reasons <-chan string) <-chan string {
	out := make(chan string, 2)
	go func() {
		reason := <-reasons
		out <- reason
		out <- reason
	}()
	return out
}

// timeless tells no time: simulated minutes pass in no time at all.
type timeless struct{ *report.Fanout }

func (timeless) Tick(time.Time) {}

// added are the lines of a difference of which nothing was expected.
func added(title string, came []string) []string {
	if len(came) == 0 {
		return nil
	}
	lines := []string{title}
	for _, line := range came {
		lines = append(lines, "+ "+line)
	}
	return lines
}

// compare says that the run is not as expected. A run of which nothing was
// expected is like any other.
func (s Simulation) compare(run *state.Run, replies *simulate.Replies, diff []string) error {
	if len(diff) > 0 {
		for _, line := range diff {
			fmt.Fprintln(s.Stderr, text.Escaped(line))
		}
		return &problem.Problem{Class: problem.ClassRunFailed, Where: run.Scope, What: "the run is not as expected (expected -, came +)",
			Hint: "change the workflow, or the replies file"}
	}
	if replies.Expect == nil && run.Progress.Status != state.Completed {
		p := Outcome(run, "")
		p.Hint = ""
		return p
	}
	return PrintResult(s.Stdout, s.Options.Events, run)
}
