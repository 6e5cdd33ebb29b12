// Package action runs a step of a job: the main phase, which action.yml starts, and the post phase,
// which runs at the end of the job.
//
// The main phase is a sequence of stages, and each takes and returns values: prepare reads the inputs
// and decides whether the step may start, find looks for the run and decides how to continue, restore
// brings the run to this machine, drive runs it until it stops, and finish stores and reports the end.
// The post phase completes the work of a main phase that had no time to finish, or was killed, with the
// same finish.
package action

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Run runs the main phase of a step. It has reported all problems in the job's log when it returns.
// Its error contains the problems that determine the exit code.
func Run(e Env) error {
	// This must come first: no child process may read this process's memory or outlive it.
	err := e.Process.Protect()
	gone, out := watchRunner(e)
	s := &scratch{log: newLog(job.NewLogWriter(out, e.Getenv("GITHUB_WORKSPACE")), true), note: &postNote{}}
	defer s.log.out.Close()
	var guardErr error
	s.files, guardErr = job.GuardFiles(e.Getenv)
	err = errors.Join(err, problem.OfMachine("command files", guardErr), setOutputs(e, s.files, s.log, noAgentWaits)) // so that they exist even if the step is killed
	p, d, c := &prepared{job: &Job{env: e}}, &driver{}, Conclusion{}
	if err == nil {
		var file *journal.File
		p, d, file, c, err = perform(context.Background(), e, s, gone)
		if file != nil { // closed last: a process that waits for the lock then finds everything reported
			defer file.Close()
		}
	}
	if isGreen(err) {
		c.isSkipped, err = errors.Is(err, errSkipped), nil
	}
	err = errors.Join(err, checkProcesses(e.Process.EndAll()))
	for _, dir := range actionDirs(e) { // agents may have changed their modes, and the post phases of actions need them
		reopen(dir)
	}
	return reportResult(p, s, d, c, err)
}

// perform runs the stages of the main phase one after the other. The caller closes the file, which has
// the lock of the run.
func perform(ctx context.Context, e Env, s *scratch, gone <-chan struct{}) (p *prepared, d *driver, file *journal.File, c Conclusion, err error) {
	d = &driver{}
	p, err = prepare(ctx, e, s)
	defer p.close()
	if err == nil && p.job.in.Mode != job.ModeRun {
		err = runTool(p.job, s, p.source)
		return p, d, nil, c, err
	}
	if err != nil {
		return p, d, nil, c, err
	}
	how, err := find(ctx, p.job, s, p.store, p.workflow, p.answer)
	defer func() { how.lookup.Remove() }()
	var run *readyRun
	lease := how.lease
	if err == nil {
		p.job, run, err = restore(ctx, p.job, s, p.store, p.workflow, how)
		lease = run.lease
	}
	if err != nil {
		if lease != nil { // the run is not driven
			release(ctx, s.log, lease, Deadline{}, false)
		}
		p.answer.reportReplyError(ctx, p.job, s.log, err)
		return p, d, nil, idleConclusion(p.job, how, run, err), err
	}
	if how.course == shows {
		d, c, err = showAgain(p.job, s, run)
		return p, d, run.file, c, err
	}
	d, c, err = drive(ctx, p.job, s, run, p.jobStart, gone)
	defer d.close()
	if err == nil {
		c, err = d.finish(ctx, p.job, s, run.lease, c)
	}
	return p, d, run.file, c, err
}

// prepared is the result of prepare: what decides whether a step may start, and the workflow.
type prepared struct {
	job      *Job // never nil
	store    store.Store
	source   source
	workflow *workflow        // nil in modes that start no agent
	answer   *answerEvent     // the comment that has started the step; nil for other events
	jobStart func() time.Time // may wait for the API
}

// close releases what prepare has opened.
func (p *prepared) close() {
	if p.workflow != nil {
		p.workflow.Close()
	}
	if p.answer != nil {
		p.answer.lookup.Remove()
	}
}

// prepare reads the inputs of the step, and decides whether the sender of the event may start the
// workflow and whether the checkout may configure the agent CLI.
func prepare(ctx context.Context, e Env, s *scratch) (p *prepared, err error) {
	p = &prepared{}
	var hasDirs bool
	p.job, hasDirs, err = readInputs(e, s.log)
	if hasDirs {
		dirErr := s.locate(p.job)
		if dirErr == nil {
			dirErr = s.makeOwn(p.job)
		}
		var sourceErr error
		p.source, sourceErr = findSource(s.dirs, p.job.in.Workflow, s.log)
		err = errors.Join(err, dirErr, sourceErr)
	}
	if err != nil {
		return p, err
	}
	j := p.job
	s.git = newGit(e, j.in, s.dirs, j.options.Cage)
	p.store = e.newStore(s.storeConfig(j, false))
	if p.answer, err = findAnswer(ctx, j, s, p.store, p.source); err != nil {
		return p, err
	}
	if p.answer != nil {
		j = p.answer.job
	} else if !j.event.Code.Known {
		j = j.withHead(ctx, s.log)
	}
	if p.job, err = admit(ctx, j, s.log, p.answer); err != nil {
		return p, err
	}
	j = p.job
	if !j.isTrusted {
		p.source, err = trustedSource(ctx, j, s, p.source)
	}
	if err != nil || j.in.Mode != job.ModeRun {
		return p, err
	}
	if err = reserveKey(j, s.dirs); err != nil {
		return p, err
	}
	p.jobStart = requestJobStart(ctx, j)
	if p.workflow, err = openWorkflow(j, s, p.source); err == nil {
		j.base = s.worktree(j).Base(ctx)
	}
	return p, err
}

// jobStartWait is how long the API may take to return the start of the job.
const jobStartWait = 5 * time.Second

// requestJobStart requests the start of the job in the background, because the deadline counts from
// it. The function that it returns waits for the answer. It returns the start of the step if the start
// of the job is not known, or if the step has no deadline.
func requestJobStart(ctx context.Context, j *Job) (began func() time.Time) {
	answer := make(chan time.Time, 1)
	if j.options.Deadline == 0 {
		answer <- time.Time{}
	} else {
		ctx, cancel := context.WithTimeout(ctx, jobStartWait)
		go func() {
			defer cancel()
			answer <- j.services.JobStart(ctx, j.event)
		}()
	}
	return func() time.Time {
		if start := <-answer; !start.IsZero() && start.Before(j.began) {
			return start
		}
		return j.began
	}
}

// Errors with which a stage ends the step early. The step is then green.
var (
	errSkipped = errors.New("skipped")           // no run is started
	errNotDue  = errors.New("nothing to do yet") // the run that was found stays unchanged
	errDone    = errors.New("nothing to do")     // another job or attempt has done it
)

func isGreen(err error) bool {
	return errors.Is(err, errSkipped) || errors.Is(err, errNotDue) || errors.Is(err, errDone)
}

// checkProcesses returns a problem if child processes are still alive when the main phase ends. They
// could attack the post phase, which has the job's secrets from its first instruction on.
func checkProcesses(left []string) error {
	if len(left) == 0 {
		return nil
	}
	return &problem.Problem{
		Class: problem.ClassDenied, Where: "left-over processes", What: "can't be ended: " + text.Line(strings.Join(left, ", ")),
		Hint: "agents and scripts must stop processes that they start with other privileges, for example with sudo",
	}
}
