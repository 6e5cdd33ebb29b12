package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	webpage "github.com/raymond-action/raymond-action/runner/insight/page"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Conclusion is what the step has come to. It is rendered as outputs, page, comment and problems. The
// zero value describes a step that has found no run.
type Conclusion struct {
	run       *state.Run   // nil if the step has found no run
	status    state.Status // of the run for users; Running before it is driven
	receipt   store.Receipt
	whyLost   string      // why nothing of the run is stored, if the receipt says so
	unstored  error       // why the end of the run may not be stored; nil if it may
	conflict  error       // another job has the key; nil for none
	byPost    bool        // the post phase stores the end of the run
	report    report.Link // to the report; zero for none
	next      ask.NextSteps
	exitCode  int  // for the signal that has cancelled the run; 0 for none
	isSkipped bool // no run was started, and this is not an error
	isIdle    bool // nothing in the run is due, so it was left unchanged
}

// Deadline is how much time a phase has left. In the main phase there are only seconds if the job was
// cancelled. The post phase has minutes and does the rest.
type Deadline struct {
	stops  *session.Stops // reasons to end the main phase; nil before the run is driven, and in the post phase
	isLast bool           // no later phase of the step follows
}

const (
	// orphanSave is how long the last save may take when the runner is gone.
	orphanSave = 30 * time.Second
	// gitAtEnd is the time limit for work at the end of a run that depends on git. All git commands
	// together get three fifths of it.
	gitAtEnd = 75 * time.Second
	lastSave = 5 * time.Minute // how long the last checkpoint may take
	// On a cancellation, the runner kills the step ten seconds after its first signal. The post
	// phase stores the rest.
	cancelBegin = 4 * time.Second
	cancelEnd   = 5 * time.Second // the step must exit within 7 s, also on a busy machine
)

// within returns the time limit for an operation whose usual limit is most. ok is false if no
// operation may begin any more.
func (d Deadline) within(most time.Duration) (limit time.Duration, ok bool) {
	switch since := d.stops.Since(); {
	case d.stops.IsOrphaned():
		return min(most, orphanSave), true
	case since < 0:
		return most, true
	default:
		return cancelEnd - since, since <= cancelBegin
	}
}

// isRequested reports whether the step was asked to end.
func (d Deadline) isRequested() bool { return d.stops.Since() >= 0 }

// isFinal reports whether no later phase completes what this one leaves.
func (d Deadline) isFinal() bool { return d.isLast || d.stops.IsOrphaned() }

// isCancelled reports whether the step has little time left and a post phase will do the rest.
func (d Deadline) isCancelled() bool { return d.isRequested() && !d.isFinal() }

// finish stores the end of a run, its spending and its report, releases the key, starts the workflow
// again if the run is to continue, and determines the user's next steps. The post phase does the rest
// if the main phase has too little time.
func finish(ctx context.Context, j *Job, s *scratch, lease store.Lease, a advisor, c Conclusion) (Conclusion, error) {
	by := a.deadline
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if by.stops != nil {
		defer context.AfterFunc(by.stops.Requested, func() {
			limit, _ := by.within(orphanSave)
			time.AfterFunc(limit, cancel)
		})()
	}
	limit, _ := by.within(gitAtEnd)
	clock, stop := context.WithTimeoutCause(ctx, limit*3/5, fmt.Errorf("all git commands %w %v", workspace.ErrSlow, limit*3/5))
	defer stop()
	s.git.SetContext(clock)
	err := c.unstored
	if err == nil {
		c.receipt, err = storeEnd(ctx, lease, by, c.run)
	}
	if c.conflict = lease.Wait(ctx, 0); c.conflict != nil { // includes a conflict that was found while saving
		c.receipt, err = store.Receipt{Event: c.receipt.Event}, c.conflict
	}
	if c.byPost = c.byPost && c.receipt.Event != nil && err == nil; c.byPost {
		s.log.print(fmt.Sprintf("stored %s at step %d (%s) as %s", c.run.WorkflowID, c.receipt.Event.SeqStored, c.run.Progress.Status, c.receipt.Name))
	}
	// Before the key is released, so that the next holder of the key finds the end of the run and
	// its spending.
	if !by.isCancelled() {
		if failed := recordSpending(ctx, j, s.note, c.run); failed != nil && by.isFinal() {
			s.log.Warn(spendingWarning(failed))
		}
	}
	release(ctx, s.log, lease, by, c.conflict != nil)
	if !by.isRequested() && c.conflict == nil && c.receipt.Place != store.Nowhere {
		var failed error
		if c.report, failed = storeReport(ctx, j, s, c.run, a.nextSteps(c).Text); failed != nil { // does not fail the step
			text := "the report of the run could not be stored: " + failed.Error()
			s.log.Note(sentence(text))
			s.log.Notice(text)
		}
	}
	if err == nil {
		continueRun(ctx, j, s, by, c)
	}
	c.next = a.nextSteps(c)
	if c.run.Progress.Status == state.Cancelled && by.stops != nil {
		c.exitCode = by.stops.ExitCode()
	}
	return c, err
}

// storeEnd stores a run that has stopped. If the step was asked to end, an error is left to the post
// phase.
func storeEnd(ctx context.Context, lease store.Lease, by Deadline, run *state.Run) (store.Receipt, error) {
	limit, ok := by.within(lastSave)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !ok || lease.Wait(ctx, 0) != nil {
		cancel() // only stops saving in the background
	}
	r, err := lease.StoreEnd(ctx, run, !by.isCancelled())
	if err == nil || by.isRequested() { // perhaps only since the save
		return r, nil
	}
	if _, ok := errors.AsType[*slots.Conflict](err); ok {
		return r, err
	}
	return r, &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state stays on this machine as long as the machine exists"}
}

// release gives up the key if there is time. Otherwise the post phase does. If that fails, too, the
// claim stays, but it stops no other job, because its own job is over.
func release(ctx context.Context, log *jobLog, lease store.Lease, by Deadline, isLost bool) {
	limit, ok := by.within(orphanSave)
	if isLost {
		limit, ok = orphanSave, true
	}
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := lease.Release(ctx); err != nil && !by.isRequested() {
		text := err.Error()
		if !by.isFinal() {
			text += "; the post phase of the step will try again"
		}
		log.Warn(text)
	}
}

// continueRun starts the workflow again for a run whose end is stored. If the user cancelled the
// job, neither this phase nor the post phase starts it.
func continueRun(ctx context.Context, j *Job, s *scratch, by Deadline, c Conclusion) {
	switch isWanted := c.run.Progress.Continuing == state.Continues && j.in.Continuations > 0; {
	case !j.traits.drivesAll: // the step that joins the parts hands the part over again
		return
	case isWanted && by.isRequested():
		if err := s.note.change(func(d *noteData) { d.Dispatched = true }); err != nil {
			s.log.Warn(err.Error())
		}
		return
	case isWanted && !c.receipt.IsWhole:
		return // the post phase stores it and then does this
	}
	if note := redispatch(ctx, j, s, c.run); note != "" {
		s.log.Note(note)
	}
}

// idleConclusion returns the conclusion of a step that drives no run because a stage returned err. If
// nothing in the run is due, the conclusion describes that run.
func idleConclusion(j *Job, d decision, r *readyRun, err error) Conclusion {
	if !errors.Is(err, errNotDue) {
		return Conclusion{}
	}
	c := Conclusion{run: d.lookup.Run, status: d.lookup.Run.Progress.Status, isIdle: true, receipt: d.lookup.Receipt()}
	a := advisor{job: j, isBlind: d.lookup.NoAccess}
	if r != nil { // includes joined parts, which are not stored
		c.run, a.workflow = r.run, r.workflow
	}
	c.next = a.nextSteps(c)
	return c
}

// advisor determines the user's next steps for a run. All texts about this come from its result.
type advisor struct {
	job      *Job
	workflow *workflow // nil if not known
	jobFile  []byte    // the job's workflow file; nil if it can't be read
	isBlind  bool      // later workflow runs can't look for the run
	deadline Deadline
}

// nextSteps returns the user's next steps for the run of a conclusion.
func (a advisor) nextSteps(c Conclusion) ask.NextSteps {
	j, run, p := a.job, c.run, &c.run.Progress
	f := ask.Facts{
		Status: c.status, WorkflowID: run.WorkflowID, Key: j.key.Name, Branch: onlyBranch(j), Head: j.event.Head, Until: p.Until, Waits: report.WaitsOf(run), JobContext: jobContext(j, a.jobFile),
		Spent: run.Spent(), Budget: run.Options.BudgetUSD, Iterations: run.OwnExecutions(), MaxIterations: run.Options.MaxIterations,
		StateDir: j.in.StateDir, WithoutTranscript: j.in.ResumeWithoutTranscript, NeverResume: j.in.Resume == job.ResumeNever, NoActionsRead: a.isBlind,
		Cause: keyAdvice(run, j.in, a.workflow), LeftOut: c.receipt.Omissions,
		RefusesChanges: j.in.ChangedWorkflow != job.ChangedTake,
	}
	if f.Cure = report.AdviceForJob(run); f.Cure.FirstStep != "" {
		f.Cure.FirstStep = inputsNamed(f.Cure.FirstStep)
	}
	f.Cap.Which, f.Cap.Spent, f.Cap.Max = run.ReachedCap()
	f.Storage, f.WhyNotStored = a.storage(c)
	if c.byPost {
		f.PostArtifact = c.receipt.Name
	}
	f.Successor = ask.Successor(a.jobFile, ask.StepResult{Job: j.event.Job, Key: j.in.Key, Status: f.Status, Waits: f.Waits})
	return ask.NextStepsFor(f)
}

// Reasons why a run can't be resumed, with advice.
const (
	whyConflict  = "another job drives a run with this key, so this run is not stored"
	whyNoService = "the job has no results service (`ACTIONS_RUNTIME_TOKEN` is not set), so nothing of the run is stored; " +
		"`store: local` with a `state-dir` stores runs on the machine"
	whyUnstored = "its end could not be stored; the post phase of the step tries once more when this job ends"
	whyLost     = "its end could not be stored, so it is lost when this machine is removed"
)

// storage returns where a run is stored, or why it is not stored.
func (a advisor) storage(c Conclusion) (where ask.Storage, why string) {
	switch r := c.receipt; {
	case c.conflict != nil:
		return ask.NotStored, whyConflict
	case r.Place == store.OnMachine:
		return ask.StoredLocally, ""
	case c.isIdle:
		return ask.StoredAsArtifact, ""
	case r.Place == store.Nowhere:
		return ask.NotStored, c.whyLost
	case r.IsWhole, c.status == state.Running:
		return ask.StoredAsArtifact, ""
	case a.deadline.isCancelled(): // the step ran out of time
		return ask.StoredLater, ""
	case r.Name != "": // an earlier checkpoint of the run
		return ask.StoredAsArtifact, ""
	case a.deadline.isFinal():
		return ask.NotStored, whyLost
	}
	return ask.NotStored, whyUnstored
}

// onlyBranch returns the branch whose runs alone can find the step's checkpoints, or "" without
// this limit. Runs of every branch can find a sealed checkpoint, and a default key belongs to one
// branch or issue anyway.
func onlyBranch(j *Job) string {
	own, main := j.event.Branch, j.event.Repository.DefaultBranch
	if j.in.Key == "" || !j.traits.isBranchBound || main == "" || own == main {
		return ""
	}
	return own
}

// jobContext returns how users can reach agents that wait. jobFile is the workflow file of the job, or
// nil if not known.
func jobContext(j *Job, jobFile []byte) report.JobContext {
	p := report.JobContext{Prefix: j.in.AnswerPrefix, Number: j.event.Number, Kind: "issue", Job: j.event.Job, NoSchedule: ask.HasNoSchedule(jobFile), Part: agentsOf(j.key.Part)}
	if j.event.Kind == job.KindPullRequest {
		p.Kind = "pull request"
	}
	return p
}

// agentsOf returns the names of the agents of a part, or nil for the whole run.
func agentsOf(p *state.Part) (names []string) {
	if p == nil {
		return nil
	}
	for _, a := range p.Agents {
		names = append(names, a.Agent)
	}
	return names
}

// redispatch starts the workflow again for a run that was suspended at its deadline, if its state
// requests this. It returns a sentence for users, or "". The attempt is recorded first, so that the
// workflow is never started twice, whatever happens to the step.
func redispatch(ctx context.Context, j *Job, s *scratch, run *state.Run) string {
	p := &run.Progress
	if j.in.Continuations == 0 || s.note.get().Dispatched {
		return ""
	}
	switch p.Continuing {
	case state.NoProgress:
		return "The workflow is not started again: no agent has made progress in this segment of the run."
	case state.TooOften:
		return fmt.Sprintf("The workflow is not started again: it was started %d times in a row.", p.Continuations)
	case state.Continues:
	default:
		return ""
	}
	ref, why := redispatchRef(j, j.env.Getenv("GITHUB_REF_NAME"))
	err := s.note.change(func(d *noteData) { d.Dispatched = true })
	if err == nil && why == "" {
		err = j.api.Dispatch(ctx, path.Base(j.event.Workflow), ref, j.key.Name)
	}
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		s.log.Warn("the workflow could not be started again to continue the run: " + why)
		return "The workflow could not be started again to continue the run: " + s.log.shown(why) + "."
	}
	s.log.print(fmt.Sprintf("started %s again on %s to continue the run (%d of %d in a row)", j.event.Workflow, ref, p.Continuations, j.in.Continuations))
	return fmt.Sprintf("The workflow was started again to continue the run (%d of %d in a row).", p.Continuations, j.in.Continuations)
}

// redispatchRef returns the branch or tag on which the workflow is started again, and why it can't
// be started; why is "" if it can.
func redispatchRef(j *Job, own string) (ref, why string) {
	e := j.event
	ref = own
	if e.Kind == job.KindPullRequest {
		ref = e.Repository.DefaultBranch
	}
	switch {
	case e.Workflow == "" || ref == "":
		return ref, "the runner does not provide the workflow file or the branch"
	case j.in.GitHubToken == "":
		return ref, "there is no github-token"
	case e.Branch != ref && e.Branch != e.Repository.DefaultBranch && j.traits.isBranchBound:
		return ref, "it would run on " + ref + ", where a checkpoint of the branch " + e.Branch + " is accepted only if it is sealed: set the input state-key"
	}
	return ref, ""
}

// reportTime is the time limit for storing a report.
const reportTime = time.Minute

// storeReport creates and stores the report of a run that has stopped, if it is wanted and was not tried
// before. The default is a report of each run with prompts in a private repository. next is the text
// about the user's next steps. The link is zero without a report.
func storeReport(ctx context.Context, j *Job, s *scratch, run *state.Run, next string) (report.Link, error) {
	isWanted := s.note.get().Prompts || run.HasPrompted()
	if j.in.Report != nil {
		isWanted = *j.in.Report
	}
	if s.note.get().Reported || !isWanted || j.in.Report == nil && isPublic(j) {
		return report.Link{}, nil
	}
	if err := s.note.change(func(d *noteData) { d.Reported = true }); err != nil {
		return report.Link{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reportTime, fmt.Errorf("it took longer than %v", reportTime))
	defer cancel()
	f, err := os.CreateTemp(s.own, "report-*.zip")
	if err != nil {
		return report.Link{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	logins := secrets.NewRedactor(nil).Text // hides passwords in URLs, which the mask doesn't know
	from := runs.ReportSource{
		StateDir: s.state, Run: run, Agents: agentsIn(j, cliDir(j, s.dirs, run.WorkflowID)), Hide: func(text string) string { return s.log.shown(logins(text)) }, Next: next,
		Snapshots: s.worktree(j).Snapshots(s.run(run.WorkflowID)),
	}
	if err := writeReport(f, from); err != nil {
		return report.Link{}, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return report.Link{}, err
	}
	return store.Reports{Config: store.Config{Inputs: j.in, Event: j.event, Services: j.services}}.Put(ctx, j.key.Name, f, size)
}

// writeReport writes the archive of a report. The report is made from untrusted text: a panic
// becomes an error, so that it can't end the step.
func writeReport(to *os.File, from runs.ReportSource) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("internal error: %v", failed)
		}
	}()
	data, err := runs.BuildReport(from)
	if err != nil {
		return err
	}
	var html bytes.Buffer
	if err := webpage.Write(&html, data); err != nil {
		return err
	}
	p := archive.NewPacker(to)
	return errors.Join(p.Add(from.Run.WorkflowID+".html", &html), p.Close())
}
