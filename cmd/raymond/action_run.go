package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/state"
)

// drive runs the workflow, or goes on with the run that waits.
func (x *action) drive(ctx context.Context) error {
	var err error
	if x.scope, err = openScope(x.source); err != nil {
		return err
	}
	defer func() { x.scope.close() }()
	x.spareStates(x.scope.workflow.Names())
	if x.scope.faulty != nil {
		return x.scope.faulty
	}
	if err := x.needKey(); err != nil {
		return err
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	if x.in.Store == job.StoreLocal {
		return x.driveLocal(ctx)
	}
	return x.driveStored(ctx)
}

// driveStored is drive with the run kept as an artifact.
func (x *action) driveStored(ctx context.Context) error {
	s, err := x.openServices()
	if err != nil {
		return err
	}
	x.services = s
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
	if x.mayBeWide(found) {
		wide, taken, err := x.takeUpWide(ctx, s)
		if err != nil {
			return err
		}
		if wide.Dir != "" {
			defer os.RemoveAll(wide.Dir)
		}
		if taken != nil {
			found, t = wide, taken
		}
	}
	if t != nil && t.isOver {
		return x.showAgain(ctx, t)
	}
	return x.carryOut(ctx, t, func(d *drive) error {
		if err := x.openDepot(ctx, d, lookup{s, found, t != nil}); err != nil || x.depot == nil {
			return err
		}
		return x.beginClaim(d, s)
	})
}

// takeUpWide looks for a run that began before the job had a matrix: one leg goes
// on with it, under the key that it has.
func (x *action) takeUpWide(ctx context.Context, s services) (*slots.Found, *taken, error) {
	own := x.key
	x.key = x.wide
	found, err := x.find(ctx, s)
	if err == nil && found.Manifest != nil {
		var t *taken
		var f *problem.Problem
		t, err = x.takeUp(found)
		driven := errors.As(err, &f) && f.Class == problem.ClassConflict
		if err == nil && t != nil {
			if x.claim, err = x.claimWide(ctx, s); err == nil && x.claim != nil {
				return found, t, nil
			}
			driven = err == nil
		}
		if driven {
			x.warn(fmt.Sprintf("another leg of the matrix drives the run of the key %q: a new run begins", x.wide))
			err = nil
		}
	}
	x.key = own
	if err != nil {
		return nil, nil, err
	}
	return found, nil, nil
}

// mayBeWide reports whether a leg of a matrix looks for the key that all legs share.
func (x *action) mayBeWide(found *slots.Found) bool {
	return found.Manifest == nil && x.wide != x.key && x.wide != "" && x.in.Resume != job.ResumeNever
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
	if x.in.Store == job.StoreLocal {
		if err := writeNote(x.fileOfRun(d.run.WorkflowID, beganFile), x.began); err != nil {
			return err
		}
	}
	return x.bringToRest(ctx, d)
}

// begin prepares a new run, or puts back the one that is taken up.
func (x *action) begin(ctx context.Context, t *taken) (*drive, error) {
	h := x.host()
	d := &drive{app: x.app, o: x.o, host: h, scope: x.scope}
	x.o.stateDir = x.dir
	prepare := func() error {
		x.began = x.beginning(ctx)
		return x.fresh(d)
	}
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
	if err := x.app.examine(x.o, x.scope, len(run.Options.DoneWhen) > 0); err != nil {
		return err
	}
	d.run = run
	if err := x.noteRun(run.WorkflowID); err != nil {
		return err
	}
	d.store, err = state.Create(x.dir, run.WorkflowID, holder())
	return err
}

// again goes on with a run: here, after what belongs to it is back in its place.
func (x *action) again(ctx context.Context, d *drive, t *taken) (err error) {
	d.resumed = true
	if err := x.noteRun(t.run.WorkflowID); err != nil {
		return err
	}
	if t.oldStates {
		if err := x.reopenPast(ctx, t); err != nil {
			return err
		}
		d.scope = x.scope
	}
	x.began = x.goesOn(ctx, t)
	x.differences(t)
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
	if err := errors.Join(loop(x.scope, &options), standing(t.run, x.scope, filepath.Join(x.dir, t.run.WorkflowID+".json")), looping(t.run, x.scope)); err != nil {
		return err
	}
	if d.store, d.run, err = state.Open(x.dir, t.run.WorkflowID, holder()); err != nil {
		return err
	}
	x.takeMeta(d.run)
	return nil
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
	sessions := transcript.Folder{Env: d.host.agents}
	take := func(run *state.Run) (*image, error) {
		return takeImage(run, filepath.Join(x.dir, run.WorkflowID), sessions)
	}
	if x.depot != nil {
		d.host.checkpoints = x.saveBeside(ctx, take)
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

// besides stores the run every now and then while it is driven. It implements
// runner.Checkpoints.
type besides struct {
	x     *action
	ctx   context.Context
	take  func(*state.Run) (*image, error)
	began time.Time
}

// saveBeside makes what stores the run while it is driven.
func (x *action) saveBeside(ctx context.Context, take func(*state.Run) (*image, error)) *besides {
	x.depot.saver = slots.NewSaver(slots.SaverOptions[*image]{
		Save: x.depot.save, Stored: x.depot.slots.Stored, Interval: x.in.CheckpointInterval,
	})
	return &besides{x: x, ctx: ctx, take: take, began: time.Now()}
}

// Offer implements runner.Checkpoints: what a step has brought is stored an
// interval after the last time at the latest, however long the next step takes.
func (b *besides) Offer(run *state.Run, now time.Time) (taken bool) {
	saver := b.x.depot.saver
	if now.Sub(b.began) < b.x.in.CheckpointInterval || !saver.Due(now) {
		return false
	}
	if img, err := b.take(run); err == nil {
		saver.Start(img)
	}
	return true
}

// Stored implements runner.Checkpoints.
func (b *besides) Stored() <-chan *state.Checkpoint { return b.x.depot.saver.Events() }

// CheckResumable implements runner.Checkpoints.
func (b *besides) CheckResumable(left []*state.Agent) error { return b.x.checkResumable(b.ctx, left) }

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
	defer x.tellNext(d, run)
	if x.depot == nil {
		return nil
	}
	if taken := x.claim.conflict(); taken != nil {
		x.depot.saver.Stop()
		x.stored, x.unkept = "", "another job drives a run with this key, so nothing of this one is stored"
		return errors.Join(taken, x.giveUpKey(ctx, d))
	}
	err := x.storeEnd(ctx, d, run, take)
	if taken := x.claim.conflict(); taken != nil { // learned at the save
		x.stored, x.endStored, x.unkept = "", false, "another job drives a run with this key, so nothing of this one is stored"
		err = taken
	}
	return errors.Join(err, x.giveUpKey(ctx, d))
}

// giveUpKey removes the claim, if there is time; the post part does it otherwise.
func (x *action) giveUpKey(ctx context.Context, d *drive) error {
	limit := orphanSave
	if since := d.sinceSignal(); since >= 0 && !d.orphaned.Load() && x.claim.conflict() == nil {
		limit = cancelEnd - since
		if since > cancelBegin {
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := x.claim.release(ctx); err != nil && d.sinceSignal() < 0 {
		x.warn(err.Error() + "; the post part of the step tries it again")
	}
	return nil
}

// storeEnd stores the end of a run.
func (x *action) storeEnd(ctx context.Context, d *drive, run *state.Run, take func(*state.Run) (*image, error)) error {
	limit := lastSave
	if d.orphaned.Load() {
		limit = orphanSave
	} else if since := d.sinceSignal(); since >= 0 {
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
	img.isLast = d.sinceSignal() < 0 || d.orphaned.Load() // else the post part stores what there was no time for
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	event, err := x.depot.saver.Final(ctx, img)
	if err == nil || d.sinceSignal() < 0 { // or else the post part stores it
		d.reporter().Report(run.UnsavedEvent(time.Now(), "", "", event))
	}
	x.stored, x.endStored = x.depot.chain.Name, err == nil
	if x.summary != nil {
		x.summary.SetNotes(append(x.notes, x.depot.notes...)...)
	}
	if err != nil && d.sinceSignal() >= 0 {
		return nil
	}
	return storeFault(err)
}

// storeFault words why the last checkpoint was not stored.
func storeFault(err error) error {
	var conflict *slots.Conflict
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return err
	}
	return &problem.Problem{Class: problem.ClassStore, Where: "last checkpoint", What: err.Error(), Hint: "the state is kept on this machine as long as it lives"}
}
