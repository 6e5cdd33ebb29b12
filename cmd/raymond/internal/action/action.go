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
	defer s.log.out.Close()
	err = errors.Join(err, guardFiles(s), writeNobodyWaits(s))
	r := &result{gone: gone}
	if err == nil {
		err = perform(context.Background(), s, r)
	}
	return tell(s, r, errors.Join(err, checkAlone(e.Process.EndAll())))
}

// perform does what the inputs ask for, one phase after the other.
func perform(ctx context.Context, s *step, r *result) (err error) {
	defer func() { err = r.endedBy(s, err) }()
	r.prepared, err = prepare(ctx, s)
	defer r.prepared.close()
	if err != nil {
		return err
	}
	if s.in.Mode != job.ModeRun {
		return runTool(s, r.source)
	}
	r.found, err = find(ctx, s, r.prepared)
	defer func() { r.found.remove() }()
	var b *readyRun
	if err == nil {
		b, err = begin(ctx, s, r)
	}
	if err != nil {
		r.heard.sayStuck(ctx, s, err)
		return err
	}
	if b.how == shows {
		return showAgain(s, r, b)
	}
	e, err := drive(ctx, s, r, b)
	defer e.close()
	if err != nil {
		return err
	}
	return finish(ctx, s, r, e)
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

// endedBy notes that the step ends without a failure, where that is so.
func (r *result) endedBy(s *step, err error) error {
	if !isGreen(err) {
		return err
	}
	r.isSkipped, r.isIdle = errors.Is(err, errSkipped), errors.Is(err, errNotDue)
	if r.isIdle {
		r.run = r.found.was
		r.kept.from(r.found)
		r.next = r.outlook(s, r.run)
	}
	return nil
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
