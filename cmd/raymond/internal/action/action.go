// Package action is a step of a job: what action.yml starts, and what runs at the
// end of the job.
//
// A step is a row of phases. Each is a function that takes what the ones before it
// have come to: prepare, admit, findSource, find, begin, openStorage, driveRun,
// storeEnd, tell. Run and perform list them.
package action

import (
	"context"
	"os"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// Run is the main part of a step. Its error has the problems that decide on the
// exit code; all of them are told.
func Run(e Env) error {
	// First of all: nothing that the step starts may read our memory.
	err := shell.Undumpable()
	gone, out := watchRunner(e)
	s := newStep(e, out, false)
	defer s.voice.log.Close()
	var r result
	if err == nil {
		err = perform(context.Background(), s, &r, gone)
	}
	return tell(s, r, err)
}

// perform does what the inputs ask for. gone is closed when the runner is gone.
func perform(ctx context.Context, s *step, r *result, gone <-chan struct{}) (err error) {
	if r.source, err = prepare(s); err != nil {
		return err
	}
	if r.admission, err = admit(ctx, s); err != nil || r.admission.isSkipped {
		return err
	}
	if s.in.Mode == job.ModeRun {
		if err := reserveKey(s); err != nil {
			return err
		}
	}
	if !r.admission.isTrusted && !s.isBuiltin() {
		if r.source, err = committedSource(ctx, s, r.source); err != nil {
			return err
		}
	}
	if s.in.Mode != job.ModeRun {
		return runTool(s, r.source)
	}
	if r.flow, err = openFlow(s, r.source); err != nil {
		return err
	}
	defer func() { r.flow.Close() }() // it may be another one by then
	if err := checkCredentials(s, r.flow); err != nil {
		return err
	}
	return drive(ctx, s, r, gone)
}

// drive finds the run that waits, or begins one, and drives it until it stops.
func drive(ctx context.Context, s *step, r *result, gone <-chan struct{}) error {
	if err := os.MkdirAll(s.dirs.state, 0o700); err != nil {
		return err
	}
	see := seeing{r.flow, &r.remarks}
	l, err := find(ctx, s, see)
	defer l.remove()
	if err != nil {
		return err
	}
	s.key = l.key
	b, err := begin(ctx, s, see, l)
	if err != nil {
		return err
	}
	r.flow = b.flow
	if l.isOver() {
		return showAgain(s, r, l, b)
	}
	defer b.store.Close()
	to, err := openStorage(ctx, s, r.remarks.losses, beginning{l, b})
	if err != nil {
		return err
	}
	return driveRun(ctx, s, r, driving{b, to, gone})
}
