// Package action is a step of a job: what action.yml starts, and what runs at the
// end of the job.
//
// A step is a row of phases. Each is a function that takes what the ones before it
// have come to: prepare, hear, admit, trustedSource, openFlow, putInPlace (find, begin),
// openStorage, drive (which stores the end of the run), tell. Run and perform call them in this
// order. Post is the part that runs at the end of the job.
package action

import (
	"context"
	"errors"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// Run is the main part of a step. Its error has the problems that decide on the
// exit code; all of them are told.
func Run(e Env) error {
	// First of all: nothing that the step starts may read our memory, or leave us.
	err := e.Process.Protect()
	gone, out := watchRunner(e)
	s := newStep(e, out, false)
	defer s.voice.log.Close()
	err = errors.Join(err, guardFiles(s), writeNobodyWaits(s))
	var r result
	if err == nil {
		err = perform(context.Background(), s, &r, gone)
	}
	return tell(s, r, errors.Join(err, checkAlone(e.Process.EndAll())))
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

// perform does what the inputs ask for, one phase after the other. gone is closed
// when the runner is gone.
func perform(ctx context.Context, s *step, r *result, gone <-chan struct{}) (err error) {
	if r.source, err = prepare(s); err != nil {
		return err
	}
	called, err := hear(ctx, s, r.source)
	defer called.remove()
	if r.admission.isSkipped = called.isOver; err != nil || called.isOver {
		return err
	}
	if r.admission, err = admit(ctx, s, called); err != nil || r.admission.isSkipped {
		return err
	}
	if r.source, err = trustedSource(ctx, s, r.admission, r.source); err != nil {
		return err
	}
	if s.in.Mode != job.ModeRun {
		return runTool(s, r.source)
	}
	jobBegan := askJobStart(ctx, s)
	if r.flow, err = openFlow(s, r.source); err != nil {
		return err
	}
	defer func() { r.flow.Close() }() // it may be another one by then
	b, err := putInPlace(ctx, s, r, called)
	defer b.lookup.remove()
	if called.sayStuck(ctx, s, err); err != nil || b.readyRun == nil {
		return err
	}
	if b.isOver() {
		return showAgain(s, r, b.lookup, b.readyRun)
	}
	defer b.store.Close()
	to, err := openStorage(s, r.remarks.losses, b)
	if err != nil {
		return err
	}
	return drive(ctx, s, r, driving{b.readyRun, to, gone, jobBegan, lastPart(s, b.lookup).Subject.Number})
}

// putInPlace finds the run, or begins one, and puts it in its place on this machine. There
// is none that is ready where the step has nothing to do.
func putInPlace(ctx context.Context, s *step, r *result, called *call) (b placed, err error) {
	if err := endEarlier(s); err != nil {
		return b, err
	}
	now := present{r.flow, &r.remarks}
	b.lookup, err = find(ctx, s, now, called)
	if r.admission.isSkipped = called.isOver; err != nil || called.isOver || b.isIdle {
		return b, err
	}
	s.key = b.key
	if hasNothingToDo(ctx, s, r, b.lookup) {
		return b, nil
	}
	if err := adopt(s, r, b.lookup); err != nil {
		return b, err
	}
	if b.readyRun, err = begin(ctx, s, now, b.lookup); err == nil {
		r.flow = b.readyRun.flow
	}
	var locked *state.LockedError
	if called.isCall && errors.As(err, &locked) {
		called.end(s, "nothing is started: the run is driven by another job, which finds this comment by itself")
		r.admission.isSkipped, b.readyRun = true, nil
		return b, nil
	}
	return b, err
}
