package action

import (
	"context"
	"errors"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// drive runs the run until it stops, and returns its ending, with which the end is stored and
// reported. The caller closes the ending, also after an error.
func drive(ctx context.Context, s *step, p prepared, b *readyRun) (e *ending, err error) {
	e = newEnding(s, p, b)
	a, err := newAgents(s, b, p.isTrusted)
	if err != nil {
		return e, err
	}
	e.atEnd(a.close)
	cages, err := newCages(s, a, b)
	if err != nil {
		return e, err
	}
	e.atEnd(func() { cages.Close() })
	a.env.Cages, a.env.PrivateDir = cages, cages.PrivateDir()
	e.asks = startAsking(s, b)
	u := setup(s, b, a)
	talks := clis.New(a.clis) // used only to find conversations
	e.take = func(run *state.Run) (*checkpoints.Snapshot, error) {
		return checkpoints.Take(run, u.Dir, talks, s.note.seals)
	}
	stops := session.StopOptions{ParentGone: s.gone, InJob: true, Signals: s.env.Process.Signals}
	if b.to != nil {
		stored := &periodic{step: s, ctx: ctx, to: b.to, take: e.take, began: time.Now()}
		if b.supersedes.WorkflowID != "" { // store at once: later jobs of the superseded run must see this run
			stored.began = time.Time{}
		}
		u.Config.Checkpoints = stored
		stops.Reasons = b.to.claim.Asked()
	}
	e.stops = session.Listen(stops)
	u.Stops = e.stops
	s.git.SetContext(e.stops.Requested)
	e.asks.join(&u)
	if e.told, err = session.Open(u); err != nil {
		return e, err
	}
	e.atEnd(e.told.Close)
	e.tell = func(context.Context) { e.tellNext(s.log) }
	o := &e.told.Config
	o.StartTime, o.Continuations = p.jobBegan(), s.in.Continuations
	if s.env.Clock.Now != nil {
		o.Clock = s.env.Clock
	}
	wrapAgents(s, b, o.Agents)
	if err = addReporters(s, e, b, e.told.Events); err == nil {
		e.asks.listen(e.told.Events)
		e.run, err = e.told.Run(ctx)
		s.log.note(cages.Notes()...)
	}
	if err != nil {
		err = errors.Join(err, e.asks.finish(ctx, 0, false, false)) // without waiting, because the end of the run can't be stored
	}
	return e, err
}

// setup returns the session.Setup of a run.
func setup(s *step, b *readyRun, a *agents) session.Setup {
	u := session.Setup{
		Options: s.options, Scope: b.flow.Scope, Run: b.run, Store: b.file, Resumed: b.isResumed(), NewOptions: b.changed,
		Config: runner.Config{Part: agentsOf(s.part()), HandOver: b.checkout.HandOver(s.git), Redact: a.redact},
		Agents: &a.clis, Env: a.env, Backends: s.env.Backends, Dir: s.dirs.run(b.run.WorkflowID),
		Stdout: s.env.Stdout, Stderr: s.env.Stderr, Hide: s.log.shown, Seal: s.note.seals, TraceEnviron: s.env.Environ, Version: s.env.Version,
	}
	if s.part() == nil { // a part hands over no agents
		u.Config.Matrix = &runner.Matrix{Job: s.in.MatrixJob, MaxJobs: s.in.MaxJobs}
	}
	if s.in.Workspace == job.WorkspaceGit {
		u.Snapshots = s.git.OpenSnapshots(session.SnapshotsPath(u.Dir))
	}
	return u
}

// wrapAgents wraps the agent CLIs: a step without prompts refuses them, the conversations are
// recorded for the post phase, and prompts wait until the run has claimed its key.
func wrapAgents(s *step, b *readyRun, agents map[string]runner.AgentCLI) {
	for name, a := range agents {
		run := runner.Backend(noPrompts{})
		if !s.in.NoPrompts {
			run = b.talks.Wrap(a)
		}
		if b.to != nil {
			run = b.to.claim.Guard(run)
		}
		agents[name] = runner.WithBackend(a, run)
	}
}

// addReporters adds the reporters of a job: log, annotations, summary and comment.
func addReporters(s *step, e *ending, b *readyRun, events *report.Fanout) (err error) {
	e.page, err = openPage(s, e, b, events)
	events.Model.Resume(b.run)
	events.Add("job log", report.NewJobReporter(s.log.out, events.Model, report.ConsoleOptions{
		WorkflowID: b.run.WorkflowID, Verbose: s.options.Verbose(), Color: s.env.Getenv("NO_COLOR") == "",
	}))
	fileOf := func(name string) string { return b.flow.fileOf(s.dirs.top, name) }
	events.Add("annotations", report.NewAnnotations(s.log.out, events.Model, fileOf))
	return err
}

// tellNext reports the next steps of the user after a run has stopped.
func (e *ending) tellNext(log *jobLog) {
	e.page.summary.SetNotes(log.notes...)
	e.page.summary.SetReport(e.kept.report)
	e.told.Events.Model.SetWaitDetails(report.WaitsOf(e.run))
	e.told.Events.Next(log.shown(e.next.Text))
}

// showAgain shows the outputs and the page of a completed run. It starts nothing and stores
// nothing.
func showAgain(s *step, p prepared, b *readyRun) (*ending, error) {
	e := newEnding(s, p, b)
	o, err := session.OpenUndriven(session.Setup{
		Options: s.options, Scope: b.flow.Scope, Run: b.run, Resumed: true, Dir: s.dirs.run(b.run.WorkflowID),
		Stdout: s.env.Stdout, Stderr: s.env.Stderr, Hide: s.log.shown, Seal: s.note.seals,
	})
	if err != nil {
		return e, err
	}
	e.run = b.run
	e.kept.from(b.lookup)
	e.page, err = openPage(s, e, b, o.Events)
	o.Close()
	return e, err
}
