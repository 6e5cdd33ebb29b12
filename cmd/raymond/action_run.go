package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/keep"
	"github.com/raymond-action/raymond-action/state"
)

// drive runs the workflow, or goes on with the run that waits.
func (x *action) drive(ctx context.Context) error {
	var err error
	if x.scope, err = openScope(x.source); err != nil {
		return err
	}
	defer x.scope.close()
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	if x.in.Store == job.StoreLocal {
		return x.driveLocal(ctx)
	}
	s, err := x.openServices()
	if err != nil {
		return err
	}
	x.findBase(ctx)
	found, err := x.find(ctx, s)
	if err != nil {
		return err
	}
	if found.Dir != "" {
		defer os.RemoveAll(found.Dir)
	}
	t, err := x.takeUp(found)
	if err != nil {
		return err
	}
	return x.carryOut(ctx, t, func(d *drive) error { return x.openDepot(ctx, d, lookup{s, found, t != nil}) })
}

// carryOut begins a run, or goes on with one, and brings it to rest. begun is told
// of it before anything starts.
func (x *action) carryOut(ctx context.Context, t *taken, begun func(*drive) error) error {
	d, err := x.begin(ctx, t)
	if err != nil {
		return err
	}
	defer d.store.Close()
	if err := begun(d); err != nil {
		return err
	}
	return x.bringToRest(ctx, d)
}

// begin prepares a new run, or puts back the one that is taken up.
func (x *action) begin(ctx context.Context, t *taken) (*drive, error) {
	h := x.host()
	d := &drive{app: x.app, o: x.o, host: h, scope: x.scope}
	x.o.stateDir = x.dir
	prepare := func() error { return x.fresh(d) }
	if t != nil {
		prepare = func() error { return x.again(ctx, d, t) }
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	options := d.run.Options
	if d.override != nil {
		options = *d.override
	}
	if err := x.sandbox(h, options.SkipPermissions); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	return d, nil
}

// fresh makes a new run.
func (x *action) fresh(d *drive) error {
	x.o.workflowID = job.WorkflowID(x.key, uuid.NewString()[:8])
	x.o.input = job.ScriptInput(x.event, x.in.Input)
	if st, _ := x.scope.workflow.State(x.scope.workflow.Entry()); st.Kind == protocol.Prompt {
		x.o.input = job.Input(x.event, x.in.Input)
	}
	run, err := x.o.newRun(x.scope)
	if err != nil {
		return err
	}
	if err := loop(x.scope, &run.Options); err != nil {
		return err
	}
	d.run = run
	d.store, err = state.Create(x.dir, run.WorkflowID, holder())
	return err
}

// again goes on with a run: here, after what belongs to it is back in its place.
func (x *action) again(ctx context.Context, d *drive, t *taken) (err error) {
	d.resumed = true
	if t.found != nil {
		if t.run, err = x.putBack(ctx, d, t); err != nil {
			return err
		}
	}
	options := t.run.Options
	for _, change := range x.o.over {
		change(&options)
	}
	d.override = &options
	if err := errors.Join(loop(x.scope, &options), standing(t.run, x.scope), looping(t.run, x.scope)); err != nil {
		return err
	}
	d.store, d.run, err = state.Open(x.dir, t.run.WorkflowID, holder())
	return err
}

// bringToRest drives the run and stores its end.
func (x *action) bringToRest(ctx context.Context, d *drive) error {
	stop := func() {}
	if x.scope.hasPrompts() {
		var err error
		if stop, err = x.guardKey(d.host); err != nil {
			return err
		}
	}
	defer stop()
	sessions := &claude.Backend{Env: d.host.agents}
	take := func(run *state.Run) (*image, error) {
		return takeImage(run, filepath.Join(x.dir, run.WorkflowID), sessions)
	}
	if x.depot != nil {
		x.saveBeside(d, take)
	}
	var last error
	x.sinceSignal = d.sinceSignal
	d.host.rest = func(run *state.Run) { last = x.atRest(ctx, d, run, take) }
	run, err := d.rest()
	x.run, x.code = run, int(d.code.Load())
	x.owed.Summary = false // its last was written
	x.noteOwed()
	return errors.Join(err, last)
}

// saveBeside has the run stored every now and then: what a step has brought, an
// interval after the last time at the latest, however long the next one takes.
func (x *action) saveBeside(d *drive, take func(*state.Run) (*image, error)) {
	x.depot.saver = keep.NewSaver(keep.SaverOptions[*image]{
		Save: x.depot.save, Stored: x.depot.slots.Stored, Interval: x.in.CheckpointInterval,
	})
	d.host.aside = asBodies(x.depot.saver.Events())
	began := time.Now()
	d.host.saved = func(run *state.Run, now time.Time) (again bool) {
		if now.Sub(began) < x.in.CheckpointInterval || !x.depot.saver.Due(now) {
			return true
		}
		if img, err := take(run); err == nil {
			x.depot.saver.Start(img)
		}
		return false
	}
}

// asBodies hands events on; it ends with the process.
func asBodies(events <-chan *state.Checkpoint) <-chan state.Body {
	out := make(chan state.Body)
	go func() {
		for e := range events {
			out <- e
		}
	}()
	return out
}

// lastSave is how long the last checkpoint may take.
const lastSave = 5 * time.Minute

// On cancel the runner kills the step ten seconds after its first signal. What
// can't be stored by then, the post part of the step stores.
const (
	cancelBegin = 5 * time.Second
	cancelEnd   = 6500 * time.Millisecond // the step has to leave within 7 s
)

// atRest stores a run that has come to its end for this step, and tells so.
func (x *action) atRest(ctx context.Context, d *drive, run *state.Run, take func(*state.Run) (*image, error)) error {
	x.adviseKey(run)
	if x.depot == nil {
		return nil
	}
	limit := lastSave
	if since := d.sinceSignal(); since >= 0 {
		limit = cancelEnd - since
		if since > cancelBegin {
			x.depot.saver.Stop()
			return nil
		}
	}
	img, err := take(run)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := x.depot.saver.Final(ctx, img)
	d.reporter().Report(run.Say(time.Now(), "", "", event))
	x.stored = x.depot.chain.Name
	if x.summary != nil {
		x.summary.SetNotes(append(x.notes, x.depot.notes...)...)
	}
	x.tellLack(run)
	if err != nil && d.sinceSignal() >= 0 {
		return nil
	}
	return storeFault(err)
}

// tellLack says that a later job won't go on with what was stored, unless it is
// told to.
func (x *action) tellLack(run *state.Run) {
	if len(x.depot.lacks) == 0 || x.in.ResumeWithoutTranscript || run.Progress.Status == state.Completed {
		return
	}
	x.lacks = strings.Join(x.depot.lacks, " and ")
	x.warn("no later job can go on with this run as it is: the checkpoint lacks the " + x.lacks +
		"; with resume-without-transcript: true one goes on without, and with a state-key the next run is stored whole")
	if x.summary != nil {
		x.summary.SetResume("run the workflow again with `resume-without-transcript: true`, since the checkpoint lacks the " + x.lacks +
			", or with `resume: never` to begin anew")
	}
}

// storeFault words why the last checkpoint was not stored.
func storeFault(err error) error {
	var conflict *keep.Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return err
	}
	return &fault{class: classStore, where: "last checkpoint", what: err.Error(), hint: "the state is kept on this machine as long as it lives"}
}
