// Package action runs a step of a job: the main phase, which action.yml starts, and the post phase,
// which runs at the end of the job.
//
// The main phase is a sequence of stages. Each stage takes the values that it needs and returns its
// result: prepare reads the inputs and decides whether the step may start, find looks for the run,
// begin creates or restores it on this machine, drive runs it until it stops, and finish stores and
// reports the end. Run runs the main phase. Post runs the post phase, which also completes the work
// of a main phase that was killed.
package action

import (
	"context"
	"errors"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Run runs the main phase of a step. It has reported all problems in the job's log when it returns.
// Its error contains the problems that determine the exit code.
func Run(e Env) error {
	// This must come first: no child process may read this process's memory or outlive it.
	err := e.Process.Protect()
	gone, out := watchRunner(e)
	s := newStep(e, out, false)
	s.gone = gone
	defer s.log.out.Close()
	files, guardErr := job.GuardFiles(e.Getenv)
	s.files = files
	err = errors.Join(err, problem.OfMachine("command files", guardErr), setOutputs(e, files, s.log, nobodyWaits)) // so that they exist even if the step is killed
	var p prepared
	end := &ending{}
	if err == nil {
		p, end, err = perform(context.Background(), s)
	}
	if end.file != nil { // closed last: a process that waits for the lock then finds everything reported
		defer end.file.Close()
	}
	if end.isSkipped = errors.Is(err, errSkipped); isGreen(err) {
		err = nil
	}
	err = errors.Join(err, checkAlone(e.Process.EndAll()))
	for _, dir := range guarded(e) { // agents may have changed their modes, and the post phases of actions need them
		reopen(dir)
	}
	return tell(s, p, end, err)
}

// perform runs the stages of the main phase one after the other.
func perform(ctx context.Context, s *step) (p prepared, e *ending, err error) {
	e = &ending{}
	p, err = prepare(ctx, s)
	defer p.close()
	if err != nil {
		return p, e, err
	}
	if s.in.Mode != job.ModeRun {
		return p, e, runTool(s, p.source)
	}
	l, err := find(ctx, s, p)
	defer func() { l.found.Remove() }()
	var b *readyRun
	if err == nil {
		b, err = begin(ctx, s, &p, l)
	}
	if err != nil {
		p.heard.sayStuck(ctx, s, err)
		return p, endIdle(s, l, b, err), err
	}
	if b.how == shows {
		e, err = showAgain(s, p, b)
		return p, e, err
	}
	e, err = drive(ctx, s, p, b)
	defer func() { e.close() }()
	if err == nil {
		err = finish(ctx, s, e)
	}
	return p, e, err
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

// endIdle returns the ending of a step that drives no run because a stage returned err. If nothing
// in the run is due, the ending describes that run.
func endIdle(s *step, l lookup, b *readyRun, err error) *ending {
	e := &ending{}
	if !errors.Is(err, errNotDue) {
		return e
	}
	e.run, e.isIdle, e.isBlind = l.was, true, l.isBlind()
	if b != nil { // includes joined parts, which are not stored
		e.run, e.flow = b.run, b.flow
	}
	e.kept.from(l)
	e.next = e.outlook(s, e.run)
	return e
}

// checkAlone returns a problem if child processes are still alive when the main phase ends. They
// could attack the post phase, which has the job's secrets from its first instruction on.
func checkAlone(left []string) error {
	if len(left) == 0 {
		return nil
	}
	return &problem.Problem{
		Class: problem.ClassDenied, Where: "left-over processes", What: "can't be ended: " + text.Line(strings.Join(left, ", ")),
		Hint: "agents and scripts must stop processes that they start with other privileges, for example with sudo",
	}
}
