// Package action is a step of a job: what action.yml starts, and what runs at the
// end of the job.
//
// A step is a row of phases. Each is a function that takes what the ones before it
// have come to: prepare, admit, trustedSource, openFlow, find, begin, openStorage,
// drive (which stores the end of the run), tell. Run and perform call them in this
// order. Post is the part that runs at the end of the job.
package action

import (
	"context"
	"errors"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// Run is the main part of a step. Its error has the problems that decide on the
// exit code; all of them are told.
func Run(e Env) error {
	// First of all: nothing that the step starts may read our memory, or leave us.
	err := errors.Join(shell.Undumpable(), shell.Adopt())
	gone, out := watchRunner(e)
	s := newStep(e, out, false)
	defer s.voice.log.Close()
	err = errors.Join(err, guardFiles(s), writeNobodyWaits(s))
	var r result
	if err == nil {
		err = perform(context.Background(), s, &r, gone)
	}
	return tell(s, r, errors.Join(err, checkAlone(shell.EndAll())))
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
	if r.admission, err = admit(ctx, s); err != nil || r.admission.isSkipped {
		return err
	}
	if r.source, err = trustedSource(ctx, s, r.admission, r.source); err != nil {
		return err
	}
	if s.in.Mode != job.ModeRun {
		return runTool(s, r.source)
	}
	taken, jobBegan := takeCode(s), askJobStart(ctx, s)
	if r.flow, err = openFlow(s, r.source); err != nil {
		return err
	}
	defer func() { r.flow.Close() }() // it may be another one by then
	now := present{r.flow, &r.remarks}
	found, err := find(ctx, s, now)
	defer found.remove()
	if err != nil {
		return err
	}
	s.key = found.key
	if hasNothingToDo(s, r, found) {
		return nil
	}
	if err := adopt(s, r, found); err != nil {
		return err
	}
	if r.code, err = taken(); err != nil {
		return err
	}
	ready, err := begin(ctx, s, now, found)
	if err != nil {
		return err
	}
	r.flow = ready.flow
	if found.isOver() {
		return showAgain(s, r, found, ready)
	}
	defer ready.store.Close()
	to, err := openStorage(ctx, s, r.remarks.losses, placed{found, ready})
	if err != nil {
		return err
	}
	return drive(ctx, s, r, driving{ready, to, gone, jobBegan})
}
