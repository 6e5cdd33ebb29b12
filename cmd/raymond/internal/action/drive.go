package action

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// driver drives a run, and has what shows the run to users.
type driver struct {
	advisor advisor
	session *session.Session
	asks    *asking // nil: the run asks no questions
	page    *page   // nil before the run is driven
	closers []func()
}

// close releases what drive has opened.
func (d *driver) close() {
	for _, do := range slices.Backward(d.closers) {
		do()
	}
}

// drive runs the run until it stops. The caller closes the driver, also after an error.
func drive(ctx context.Context, j *Job, s *scratch, r *readyRun, jobStart func() time.Time, gone <-chan struct{}) (d *driver, c Conclusion, err error) {
	d = &driver{advisor: newAdvisor(j, s.top, r)}
	a, err := newAgents(j, s, r)
	if err != nil {
		return d, c, err
	}
	d.closers = append(d.closers, a.close)
	cages, err := newCages(j, s, a, r)
	if err != nil {
		return d, c, err
	}
	d.closers = append(d.closers, func() { cages.Close() })
	a.env.Cages, a.env.PrivateDir = cages, cages.PrivateDir()
	stops := session.Listen(session.StopOptions{ParentGone: gone, InJob: true, Signals: j.env.Process.Signals, Reasons: r.lease.Lost()})
	d.advisor.deadline.stops = stops
	s.git.SetContext(stops.Requested)
	u := newSetup(j, s, a, r)
	u.Stops = stops
	if d.asks = newAsking(j, s.log, r); d.asks != nil {
		u.Config.Prompter = d.asks
		r.lease.Expedite(d.asks)
	}
	if d.session, err = session.Open(u); err != nil {
		return d, c, err
	}
	d.closers = append(d.closers, d.session.Close)
	o := &d.session.Config
	o.StartTime, o.Continuations = jobStart(), j.in.Continuations
	if j.env.Clock.Now != nil {
		o.Clock = j.env.Clock
	}
	for name, cli := range o.Agents { // prompts wait until the run has claimed its key
		backend := runner.Backend(noPrompts{})
		if !j.in.NoPrompts {
			backend = s.conversations.Wrap(cli)
		}
		o.Agents[name] = runner.WithBackend(cli, store.Guard(r.lease, backend))
	}
	c = Conclusion{run: r.run, status: state.Running, receipt: r.lease.Receipt(), whyLost: whyNoService}
	if d.page, err = d.addReporters(j, s, r, c); err == nil {
		c.run, err = d.session.Run(ctx)
		c.status = c.run.Progress.Status
		s.log.Note(cages.Notes()...)
	}
	if err != nil {
		err = errors.Join(err, d.asks.finish(ctx, 0, false, false)) // without waiting, because the end of the run can't be stored
	}
	return d, c, err
}

// newAdvisor returns what determines the user's next steps for a run that was restored.
func newAdvisor(j *Job, top string, r *readyRun) advisor {
	return advisor{job: j, workflow: r.workflow, jobFile: readJobFile(j, top), isBlind: r.lookup.NoAccess}
}

// newSetup returns the session.Setup of a run.
func newSetup(j *Job, s *scratch, a *agents, r *readyRun) session.Setup {
	u := session.Setup{
		Options: j.options, Scope: r.workflow.Scope, Run: r.run, Store: r.file, Resumed: r.isResumed(), NewOptions: r.changed,
		Config: runner.Config{Part: agentsOf(r.part), HandOver: r.checkout.HandOver(s.git), Redact: a.redact, Checkpoints: r.lease},
		Agents: &a.clis, Env: a.env, Backends: j.env.Backends, Dir: s.run(r.run.WorkflowID), Snapshots: s.worktree(j).Snapshots(s.run(r.run.WorkflowID)),
		Stdout: j.env.Stdout, Stderr: j.env.Stderr, Hide: s.log.shown, Seal: s.integrity, TraceEnviron: j.env.Environ, Version: j.env.Version,
	}
	if j.traits.drivesAll { // a part hands over no agents
		u.Config.Matrix = &runner.Matrix{Job: j.in.MatrixJob, MaxJobs: j.in.MaxJobs}
	}
	return u
}

// addReporters adds the reporters of a job: log, annotations, summary, comment and questions.
func (d *driver) addReporters(j *Job, s *scratch, r *readyRun, c Conclusion) (*page, error) {
	events := d.session.Events
	p, err := openPage(j, s, r, events, d.advisor, c)
	events.Model.Resume(r.run)
	events.Add("job log", report.NewJobReporter(s.log.out, events.Model, report.ConsoleOptions{
		WorkflowID: r.run.WorkflowID, Verbose: j.options.Verbose(), Color: j.env.Getenv("NO_COLOR") == "",
	}))
	fileOf := func(name string) string { return r.workflow.fileOf(s.top, name) }
	events.Add("annotations", report.NewAnnotations(s.log.out, events.Model, fileOf))
	if d.asks != nil { // learns which checkpoints are stored
		d.asks.UseModel(events.Model)
		events.Add("questions", d.asks)
	}
	return p, err
}

// finish stores the end of the run that was driven, and reports it. The post phase does the rest if
// there is too little time.
func (d *driver) finish(ctx context.Context, j *Job, s *scratch, lease store.Lease, c Conclusion) (Conclusion, error) {
	by := d.advisor.deadline
	c, err := finish(ctx, j, s, lease, d.advisor, c)
	if event := c.receipt.Event; event != nil && (event.Error == "" || !by.isRequested()) {
		d.session.Report(c.run.UnsavedEvent(time.Now(), nil, event))
	}
	d.page.summary.SetNotes(s.log.notes...)
	d.page.summary.SetReport(c.report)
	d.session.Events.Model.SetWaitDetails(report.WaitsOf(c.run))
	d.session.Events.Next(s.log.shown(c.next.Text))
	limit, _ := by.within(lastComment)
	return c, errors.Join(err, d.asks.finish(ctx, limit, c.run.Progress.Status == state.Suspended, c.receipt.IsWhole))
}

// showAgain shows the outputs and the page of a completed run. It starts nothing and stores
// nothing.
func showAgain(j *Job, s *scratch, r *readyRun) (*driver, Conclusion, error) {
	d, c := &driver{advisor: newAdvisor(j, s.top, r)}, Conclusion{run: r.run, status: r.run.Progress.Status, receipt: r.lookup.Receipt()}
	o, err := session.OpenUndriven(session.Setup{
		Options: j.options, Scope: r.workflow.Scope, Run: r.run, Resumed: true, Dir: s.run(r.run.WorkflowID),
		Stdout: j.env.Stdout, Stderr: j.env.Stderr, Hide: s.log.shown, Seal: s.integrity,
	})
	if err != nil {
		return d, c, err
	}
	d.page, err = openPage(j, s, r, o.Events, d.advisor, c)
	o.Close()
	return d, c, err
}

// asking asks people the questions of a run while it is driven. It implements runner.Prompter,
// report.Reporter and store.Urgency.
type asking struct {
	*ask.CommentPrompter
	lease store.Lease
}

var (
	_ runner.Prompter = (*asking)(nil)
	_ store.Urgency   = (*asking)(nil)
)

// newAsking prepares to ask the run's questions. It returns nil if the step can't ask: without a
// token, or if no later job could resume the run. The step that joins the parts of a run asks their
// questions, so that no two parts use the same question number.
func newAsking(j *Job, log *jobLog, r *readyRun) *asking {
	if !j.traits.drivesAll || j.in.GitHubToken == "" || j.event.IsFromFork() || r.lease.Receipt().Place == store.Nowhere {
		return nil
	}
	return &asking{ask.NewCommentPrompter(askOptions(j, log, r.workflow, r.lookup.Manifest, r.run), r.run), r.lease}
}

// askOptions returns how and where to ask the questions of a run. m is the manifest of the run that
// was found, or nil.
func askOptions(j *Job, log *jobLog, w *workflow, m *checkpoint.Manifest, run *state.Run) ask.Options {
	o := ask.Options{
		API: j.api, Prefix: j.in.AnswerPrefix, Number: j.event.Number,
		Ref: ask.QuestionRef{Workflow: j.event.Workflow, Key: j.key.Name, Run: run.WorkflowID},
		AuthorizeAnswer: func(ctx context.Context, who job.Account) *job.Denial {
			return job.AuthorizeAnswer(ctx, j.in.Rules, who, j.api)
		},
		IsPrompt: func(name string) bool { st, ok := w.Workflow.State(name); return ok && st.Kind == protocol.Prompt },
		Redact:   log.shown, Warn: log.Warn, Link: runLink(j.event, "Asked in"), IsLocal: j.traits.isCheckpointLocal,
		Retention: j.traits.retention,
	}
	if m != nil {
		o.EarlierNumber = m.Number
	}
	if o.Number == 0 {
		o.Number = o.EarlierNumber
	}
	return o
}

// UpdateQuestions implements runner.Prompter. It asks nothing if the run could not be resumed,
// because the run is about to fail.
func (a *asking) UpdateQuestions(run *state.Run) {
	if !a.HasOpenQuestions() && a.lease.CheckResumable(run.OpenQuestions()) != nil {
		return
	}
	a.CommentPrompter.UpdateQuestions(run)
}

// finish ends the asking within the time limit. It must be called after the end of the run is
// stored; isStored is true if this succeeded.
func (a *asking) finish(ctx context.Context, limit time.Duration, isSuspended, isStored bool) error {
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := a.CommentPrompter.Finish(ctx, isSuspended && isStored)
	if err == nil || !isSuspended {
		return nil
	}
	return &problem.Problem{
		Class: problem.ClassStore, Where: "answers", What: "could not check for answers: " + err.Error(),
		Hint: "the run is stored; run the job again to read the answers",
	}
}
