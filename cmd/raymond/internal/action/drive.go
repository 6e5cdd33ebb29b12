package action

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/runner"
	clis "github.com/raymond-action/raymond-action/runner/agents"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// driving is a run, where it is stored, and who would end it.
type driving struct {
	*readyRun
	to   *storage        // nil: nothing is stored
	gone <-chan struct{} // closed when the runner is
	// jobBegan returns when the job began; it may wait for a service.
	jobBegan func() time.Time
	// before is the number of the issue or pull request that the part of the run before this
	// one was about; 0 for none.
	before int
}

// drive drives a run until it stops, and stores its end.
func drive(ctx context.Context, s *step, r *result, d driving) error {
	a, err := newAgents(s, d.readyRun, r.admission.isTrusted)
	if err != nil {
		return err
	}
	defer a.close()
	cages, err := newCages(s, a, d.readyRun)
	if err != nil {
		return err
	}
	defer cages.Close()
	a.env.Cages, a.env.Private = cages, cages.Private()
	dir := s.runDir(d.run.WorkflowID)
	talks := clis.New(a.clis) // as far as their conversations go
	take := func(run *state.Run) (*checkpoints.Snapshot, error) {
		return checkpoints.Take(run, dir, talks, s.note.seals)
	}
	u := session.Setup{
		Options: s.options, Scope: r.flow.Scope, Run: d.run, Store: d.store, Others: session.Others{Part: partAgents(s), Matrix: matrixOf(s)}, Resumed: d.isResumed, Changed: d.changed,
		Agents: &a.clis, Env: a.env, Backends: s.env.Backends, Dir: dir,
		Hide: session.Hide{Printed: a.redact, Events: s.voice.shown}, Out: outOf(s),
	}
	stops := session.StopOptions{Gone: d.gone, InJob: true, Signals: s.env.Process.Signals}
	if d.to != nil {
		u.Others.Checkpoints = &periodic{step: s, ctx: ctx, to: d.to, take: take, began: time.Now()}
		r.claim, r.store, stops.Asked = d.to.claim, d.to.store, d.to.claim.Asked()
	}
	r.stops = session.Listen(stops)
	u.Stops = r.stops
	asks, err := startAsking(s, r, d)
	if err != nil {
		return err
	}
	asks.join(&u)
	if s.in.Workspace == job.WorkspaceGit {
		u.Others.Snapshots = s.git().OpenSnapshots(snapshots.Path(dir))
	}
	u.Others.HandOver = d.checkout.HandOver(s.git())
	o, err := session.Open(u)
	if err != nil {
		return err
	}
	o.Config.Began, o.Config.Continuations = d.jobBegan(), s.in.Continuations
	if s.env.Clock.Now != nil {
		o.Config.Clock = s.env.Clock
	}
	wrapAgents(s, d, o.Config.Agents)
	if err = addReporters(s, r, d.readyRun, o.Events); err == nil {
		asks.listen(o.Events)
		r.run, err = o.Run(ctx)
		r.remarks.notes = append(r.remarks.notes, cages.Notes()...)
	}
	if err == nil {
		err = storeAndTell(ctx, s, r, ending{d.to, r.run, take, o})
	}
	err = errors.Join(err, asks.finish(s, r))
	o.Close()
	r.page.written()
	return err
}

// storeAndTell stores the end of a run, and what comes of it, and tells what can be done next.
func storeAndTell(ctx context.Context, s *step, r *result, e ending) (err error) {
	if e.to != nil {
		err = storeEnd(ctx, s, r, e)
	} else {
		bookEnd(ctx, s, r)
	}
	reportEnd(ctx, s, r)
	if err == nil {
		continueRun(ctx, s, r)
	}
	tellNext(s, r, e.told.Events)
	return err
}

// outOf is where the session of a step writes to.
func outOf(s *step) session.Out {
	return session.Out{
		Stdout: s.env.Stdout, Stderr: s.env.Stderr, Seal: s.note.seals, Traces: session.Traces{Environ: s.env.Environ, Version: s.env.Version},
	}
}

// wrapAgents has prompts run as the step wants it: refused where it has none, noted for the
// post part, and held until the key is known to be the run's.
func wrapAgents(s *step, d driving, agents map[string]runner.Agent) {
	mark := sync.OnceValue(func() error { return markAgents(s) })
	for name, a := range agents {
		b := runner.Backend(noPrompts{})
		if !s.in.NoPrompts {
			b = marking{d.talks.Wrap(a), mark}
		}
		if d.to != nil {
			b = d.to.claim.Guard(b)
		}
		agents[name] = runner.Through(a, b)
	}
}

// addReporters adds what is shown in the job: log, annotations, summary and comment.
func addReporters(s *step, r *result, b *readyRun, events *report.Fanout) (err error) {
	r.page, err = r.newPage(s, b, events)
	events.Model.Resume(b.run)
	events.Add("job log", report.NewJob(s.voice.log, events.Model, report.ConsoleOptions{
		WorkflowID: b.run.WorkflowID, Verbose: s.options.Verbose(), Color: s.getenv("NO_COLOR") == "",
	}))
	if s.in.Annotations {
		fileOf := func(name string) string { return r.flow.fileOf(s.dirs.top, name) }
		events.Add("annotations", report.NewAnnotations(s.voice.log, events.Model, fileOf))
	}
	return err
}

// tellNext tells everybody what can be done with a run that has stopped.
func tellNext(s *step, r *result, events *report.Fanout) {
	if r.page != nil {
		r.page.summary.SetNotes(r.remarks.notes...)
		r.page.summary.SetWaits(report.WaitsOf(r.run))
		r.page.summary.SetReport(r.kept.report)
	}
	r.next = r.outlook(s, r.run)
	events.Next(s.voice.shown(r.next.Text))
}

var _ runner.Checkpoints = (*periodic)(nil)
