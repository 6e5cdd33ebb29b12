package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// actionPostCommand is the part of a step that runs at the end of its job,
// however the main part ended.
func (a *App) actionPostCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action-post", Short: "store what a step that was cut off has not stored (action.yml starts it)", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.actionPost() },
	}
}

// actionPost takes nothing from the main part but the files of its run, which are
// checked like those of any run.
func (a *App) actionPost() error {
	err := errors.Join(shell.Undumpable(), shell.Adopt())
	x := &action{app: a, after: true, log: job.NewCommands(a.Stdout, a.Getenv("GITHUB_WORKSPACE"))}
	defer x.log.Close()
	if err == nil {
		err = x.post(context.Background())
	}
	var out []error
	for _, f := range problem.All(err) {
		f = x.worded(f)
		x.tell(f)
		out = append(out, f)
	}
	return errors.Join(append(out, x.log.Close())...)
}

// post ends what the main part left running, and stores what is left to store.
// Inputs that are wrong were the main part's matter, and then there is nothing;
// where there is, something that it was given has changed since.
func (x *action) post(ctx context.Context) error {
	x.own = leftOwn(x.app.Getenv)
	if x.own == "" {
		return nil // the main part came to nothing
	}
	err := readNote(filepath.Join(x.own, stepFile), &x.note)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := errors.Join(err, x.prepare()); err != nil {
		return err
	}
	if x.note.WorkflowID == "" {
		x.note.Key = x.wide // it came no further than to claim that
	}
	if x.note.Key != x.key && x.note.Key != x.wide || x.note.WorkflowID != "" && !state.ValidID(x.note.WorkflowID) {
		return &problem.Problem{Class: problem.ClassConflict, Where: stepFile, What: "is not what the main part of this step wrote; nothing is stored"}
	}
	x.key = x.note.Key
	var s services
	if x.in.Store == job.StoreArtifact {
		if s, err = x.openServices(); err != nil {
			return err
		}
		x.findBase(ctx)
	}
	return errors.Join(x.finishLeft(ctx, s), x.releaseLeft(ctx, s), x.clearSessions())
}

// finishLeft finishes what the main part has left of a run, unless the key of it
// is another's.
func (x *action) finishLeft(ctx context.Context, s services) error {
	ids, err := state.List(x.dir)
	if err != nil || x.note.Lost || !slices.Contains(ids, x.note.WorkflowID) {
		return err
	}
	return x.finish(ctx, s, x.note.WorkflowID)
}

// releaseLeft gives up the key that the main part has claimed. A service that
// fails leaves a claim whose job is over, which keeps nobody off.
func (x *action) releaseLeft(ctx context.Context, s services) error {
	if x.note.Claim == "" || s.runtime == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, orphanSave)
	defer cancel()
	if err := x.newClaimer(s, x.key).Release(ctx); err != nil {
		x.warn(err.Error())
	}
	return nil
}

// finish ends what is left of a run on this machine, stores its end and shows it,
// unless that is done. A run of a shared folder that somebody drives is his.
func (x *action) finish(ctx context.Context, s services, id string) error {
	store, run, err := x.openLeft(id)
	var locked *state.LockedError
	if errors.As(err, &locked) && x.in.Store == job.StoreLocal {
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	x.spareStates(slices.Collect(maps.Keys(run.Files)))
	if err := sweep(run.Mark); err != nil {
		return err
	}
	storeErr := x.storeLeft(ctx, s, run)
	page, err := x.completeSummary(run)
	if err != nil {
		x.warn("the page can't be completed: " + err.Error())
	}
	return errors.Join(storeErr, page.completeComment(ctx))
}

// storeLeft stores the end of a run, unless that is stored.
func (x *action) storeLeft(ctx context.Context, s services, run *state.Run) error {
	c, err := readChain(filepath.Join(x.dir, run.WorkflowID))
	if errors.Is(err, os.ErrNotExist) || s.runtime == nil {
		return nil // nothing of it was to be stored
	}
	if err != nil {
		return err
	}
	x.stored = c.Name
	if run.Progress.Seq == c.Seq && run.Progress.Status == c.Status {
		x.endStored = true
		return nil
	}
	return x.storeRun(ctx, s, c, run)
}

// leaving is how long a main part may take to end whose shim was killed: the
// program notices that by itself.
const leaving = orphanSave + 15*time.Second

// openLeft opens a run of the main part, which may be on its way out.
func (x *action) openLeft(id string) (*state.File, *state.Run, error) {
	giveUp := time.After(leaving)
	for {
		store, run, err := state.Open(x.dir, id, holder())
		var locked *state.LockedError
		if !errors.As(err, &locked) || x.in.Store == job.StoreLocal {
			return store, run, err
		}
		select {
		case <-giveUp:
			return nil, nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (x *action) storeRun(ctx context.Context, s services, c chain, run *state.Run) error {
	d := x.newDepot(s, run.WorkflowID, c)
	x.depot = d
	if err := d.adoptSent(ctx); err != nil {
		return err
	}
	d.slots.Adopt(d.chain.Existing)
	if err := x.completeLog(run); err != nil {
		return err
	}
	img, err := takeImage(run, filepath.Join(x.dir, run.WorkflowID), transcript.Folder{Env: job.AgentEnviron(x.app.Environ, x.in.Env)})
	if err != nil {
		return err
	}
	img.isLast = true
	ctx, cancel := context.WithTimeout(ctx, lastSave)
	defer cancel()
	result, err := d.save(ctx, img)
	if err != nil {
		return storeFault(err)
	}
	x.log.Print(fmt.Sprintf("stored %s at step %d (%s) as %s", run.WorkflowID, result.SeqStored, run.Progress.Status, result.Store))
	x.stored, x.endStored, x.byPost = result.Store, true, true
	return nil
}

// completeLog adds the events that the main part saved and was not left the time
// to tell.
func (x *action) completeLog(run *state.Run) error {
	d := x.leftDrive(run)
	if err := d.openLog(); err != nil {
		return err
	}
	return d.log.Close()
}

// leftDrive is that of a run which nobody drives any more.
func (x *action) leftDrive(run *state.Run) *drive {
	x.o.stateDir = x.dir
	return &drive{app: x.app, o: x.o, host: &host{mask: x.shown}, run: run, resumed: true}
}

// adoptSent finds out whether the store that the main part could not finish has
// arrived: then that artifact is the run's own. Services that tell no digest
// leave nothing but the name to go by.
func (d *depot) adoptSent(ctx context.Context) error {
	if d.chain.Sending == "" {
		return nil
	}
	d.ask(ctx)
	answer := <-d.standing
	d.standing = nil
	for _, a := range answer.list {
		if a.Digest == "" || a.Digest == d.chain.Sending {
			d.chain.Existing = append(d.chain.Existing, a)
		}
	}
	return answer.err
}
