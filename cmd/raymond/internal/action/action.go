// Package action is a step of a job: what action.yml starts, and what runs at the
// end of the job.
//
// A step is a row of phases, each of which takes what it uses and returns what it has come
// to. prepare reads what the step was given and decides whether it may start, find looks for
// its run, begin puts that in its place on this machine, drive drives it until it stops, and
// finish stores and shows its end. Run is the main part of a step. Post is the part at the
// end of the job, and finishes what a main part that was killed has left.
package action

import (
	"context"
	"errors"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Run is the main part of a step. Its error has the problems that decide on the
// exit code; all of them are told.
func Run(e Env) error {
	// First of all: nothing that the step starts may read our memory, or leave us.
	err := e.Process.Protect()
	gone, out := watchRunner(e)
	s := newStep(e, out, false)
	s.gone = gone
	defer s.log.out.Close()
	files, guardErr := job.GuardFiles(e.Getenv)
	s.files = files
	err = errors.Join(err, problem.OfMachine("command files", guardErr), setOutputs(e, files, s.log, nobodyWaits)) // which are there even if the step is killed
	var p prepared
	end := &ending{}
	if err == nil {
		p, end, err = perform(context.Background(), s)
	}
	if end.file != nil { // whoever waits for the lock finds that all is told
		defer end.file.Close()
	}
	if end.isSkipped = errors.Is(err, errSkipped); isGreen(err) {
		err = nil
	}
	err = errors.Join(err, checkAlone(e.Process.EndAll()))
	for _, dir := range guarded(e) { // for the post parts of actions
		reopen(dir)
	}
	return tell(s, p, end, err)
}

// perform does what the inputs ask for, one phase after the other.
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

// What a phase ends a step with that has nothing more to do, and is green.
var (
	errSkipped = errors.New("skipped")          // nothing is started
	errNotDue  = errors.New("nothing is due")   // the run that was found stays as it is
	errDone    = errors.New("nothing is to do") // somebody else has done it
)

func isGreen(err error) bool {
	return errors.Is(err, errSkipped) || errors.Is(err, errNotDue) || errors.Is(err, errDone)
}

// endIdle is the end of a step that drives no run, by an error of a phase. Where nothing of a run is due, that run is told of.
func endIdle(s *step, l lookup, b *readyRun, err error) *ending {
	e := &ending{}
	if !errors.Is(err, errNotDue) {
		return e
	}
	e.run, e.isIdle, e.isBlind = l.was, true, l.isBlind()
	if b != nil { // with what was joined, though that is not stored
		e.run, e.flow = b.run, b.flow
	}
	e.kept.from(l)
	e.next = e.outlook(s, e.run)
	return e
}

// checkAlone is of what lives when the main part ends. The post part has the secrets of
// the job from its first instruction on.
func checkAlone(left []string) error {
	if len(left) == 0 {
		return nil
	}
	return &problem.Problem{
		Class: problem.ClassDenied, Where: "left-over processes", What: "can't be ended: " + text.Line(strings.Join(left, ", ")),
		Hint: "agents and scripts must end what they start with other rights, as by sudo",
	}
}
