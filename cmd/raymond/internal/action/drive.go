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

// drive drives a run until it stops, and returns what its end is stored and told with. The caller closes that also after
// an error.
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
	talks := clis.New(a.clis) // as far as their conversations go
	e.take = func(run *state.Run) (*checkpoints.Snapshot, error) {
		return checkpoints.Take(run, u.Dir, talks, s.note.seals)
	}
	stops := session.StopOptions{ParentGone: s.gone, InJob: true, Signals: s.env.Process.Signals}
	if b.to != nil {
		stored := &periodic{step: s, ctx: ctx, to: b.to, take: e.take, began: time.Now()}
		if b.supersedes.WorkflowID != "" { // later jobs of the superseded run must learn of it at once
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
		err = errors.Join(err, e.asks.finish(ctx, 0, false, false)) // at once, since its end can't be stored
	}
	return e, err
}

// setup is what the session of a run is opened with.
func setup(s *step, b *readyRun, a *agents) session.Setup {
	u := session.Setup{
		Options: s.options, Scope: b.flow.Scope, Run: b.run, Store: b.file, Resumed: b.isResumed(), NewOptions: b.changed,
		Config: runner.Config{Part: agentsOf(s.part()), HandOver: b.checkout.HandOver(s.git), Redact: a.redact},
		Agents: &a.clis, Env: a.env, Backends: s.env.Backends, Dir: s.dirs.run(b.run.WorkflowID),
		Stdout: s.env.Stdout, Stderr: s.env.Stderr, Hide: s.log.shown, Seal: s.note.seals, TraceEnviron: s.env.Environ, Version: s.env.Version,
	}
	if s.part() == nil { // a part hands no agents over
		u.Config.Matrix = &runner.Matrix{Job: s.in.MatrixJob, MaxJobs: s.in.MaxJobs}
	}
	if s.in.Workspace == job.WorkspaceGit {
		u.Snapshots = s.git.OpenSnapshots(session.SnapshotsPath(u.Dir))
	}
	return u
}

// wrapAgents has prompts run as the step wants it: refused where it has none, noted for the
// post part, and held until the key is known to be the run's.
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

// addReporters adds what is shown in the job: log, annotations, summary and comment.
func addReporters(s *step, e *ending, b *readyRun, events *report.Fanout) (err error) {
	e.page, err = openPage(s, e, b, events)
	events.Model.Resume(b.run)
	events.Add("job log", report.NewJobReporter(s.log.out, events.Model, report.ConsoleOptions{
		WorkflowID: b.run.WorkflowID, Verbose: s.options.Verbose(), Color: s.env.Getenv("NO_COLOR") == "",
	}))
	if s.in.Annotations {
		fileOf := func(name string) string { return b.flow.fileOf(s.dirs.top, name) }
		events.Add("annotations", report.NewAnnotations(s.log.out, events.Model, fileOf))
	}
	return err
}

// tellNext tells everybody what can be done with a run that has stopped.
func (e *ending) tellNext(log *jobLog) {
	if e.page != nil {
		e.page.summary.SetNotes(log.notes...)
		e.page.summary.SetReport(e.kept.report)
	}
	e.told.Events.Model.SetWaitDetails(report.WaitsOf(e.run))
	e.told.Events.Next(log.shown(e.next.Text))
}

// showAgain shows what a run that is completed has left: its outputs and its page.
// Nothing starts, and nothing is stored.
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
