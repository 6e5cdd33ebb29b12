package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/keep"
	"github.com/raymond-action/raymond-action/runner/workspace"
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
	d, err := x.begin(ctx, t)
	if err != nil {
		return err
	}
	defer d.store.Close()
	if err := x.openDepot(ctx, d, s, found, t); err != nil {
		return err
	}
	return x.bringToRest(ctx, d)
}

// driveLocal is drive for a run that is kept in a folder of this machine.
func (x *action) driveLocal(ctx context.Context) error {
	run, err := x.findLocal()
	if err != nil {
		return err
	}
	t, err := x.takeLocal(run)
	if err != nil {
		return err
	}
	d, err := x.begin(ctx, t)
	if err != nil {
		return err
	}
	defer d.store.Close()
	return x.bringToRest(ctx, d)
}

// findLocal returns the newest run of this key in the state folder, or the one
// that the input names; nil when there is none.
func (x *action) findLocal() (*state.Run, error) {
	if x.in.Resume == job.ResumeNever {
		return nil, nil
	}
	ids, err := state.List(x.dir)
	if err != nil {
		return nil, err
	}
	var newest *state.Run
	for _, id := range ids {
		if id != x.in.Resume && (len(id) < 8 || id != job.WorkflowID(x.key, id[len(id)-8:])) {
			continue
		}
		run, err := state.Read(x.dir, id)
		if err != nil {
			return nil, err
		}
		if newest == nil || run.Created.After(newest.Created) {
			newest = run
		}
	}
	return newest, nil
}

// takeLocal judges a run in the state folder as if it came from a checkpoint
// that lacks nothing.
func (x *action) takeLocal(run *state.Run) (*taken, error) {
	facts := keep.Facts{
		Mode: x.in.Resume, InThisRun: true, Number: x.event.Number, Budget: x.budget(), MaxIterations: x.iterations(),
		AllowChanged: x.in.AllowChangedWorkflow,
	}
	if x.in.Resume == job.ResumeNever || run == nil && x.in.Resume == job.ResumeAuto {
		return nil, nil
	}
	var m *checkpoint.Manifest
	if run != nil {
		p := &run.Progress
		m = &checkpoint.Manifest{
			WorkflowID: run.WorkflowID, Status: p.Status, Reason: p.Reason, Seq: p.Seq, TotalUSD: p.TotalUSD, Iterations: p.Iterations,
			Number: x.event.Number, // the key has it
		}
		facts.Changed = changedFiles(run, x.scope)
	}
	return x.judged(&taken{run: run}, keep.Judge(m, facts))
}

// begin prepares a new run, or puts back the one that is taken up.
func (x *action) begin(ctx context.Context, t *taken) (*drive, error) {
	h, err := x.host()
	if err != nil {
		return nil, err
	}
	d := &drive{app: x.app, o: x.o, host: h, scope: x.scope}
	x.o.stateDir = x.dir
	if t == nil {
		err = x.fresh(d)
	} else {
		err = x.again(ctx, d, t)
	}
	if err != nil {
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

// putBack brings a run from its checkpoint to this machine: work, conversations,
// then the state, without which nothing of it would be gone on with.
func (x *action) putBack(ctx context.Context, d *drive, t *taken) (*state.Run, error) {
	m, from := t.found.Manifest, t.found.Dir
	work := filepath.Join(from, "workspace")
	trees, err := savedTrees(work)
	if err != nil {
		return nil, err
	}
	where := checkpoint.Relocation(m.Places, x.placesHere(), trees)
	if len(trees) > 0 && x.in.Workspace == job.WorkspaceNone {
		x.notes = append(x.notes, "The work in the workspace was not put back: `workspace: none`.")
	} else if len(trees) > 0 {
		if err := x.restoreWork(ctx, work, where); err != nil {
			return nil, err
		}
	}
	run, err := t.run.Relocate(where)
	if err != nil {
		return nil, err
	}
	run.Scope = x.scope.path
	if run.Dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	for _, dir := range directories(run) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, &fault{class: classConflict, where: dir, what: "can't be made: " + err.Error()}
		}
	}
	if err := x.placeTranscripts(d, t.found, where); err != nil {
		return nil, err
	}
	if leftOut(m, "transcripts") {
		run.Forget(func(string) bool { return true })
		x.notes = append(x.notes, "Agents began new conversations: the checkpoint lacked the transcripts of the old ones.")
	}
	return run, x.install(run, from)
}

// leftOut reports whether a checkpoint lacks something that there was.
func leftOut(m *checkpoint.Manifest, what string) bool {
	return slices.ContainsFunc(m.LeftOut, func(l checkpoint.LeftOut) bool { return l.What == what && l.Held })
}

// placeTranscripts puts conversations where the agent CLI of this machine looks
// for them.
func (x *action) placeTranscripts(d *drive, found *keep.Found, where func(string) string) error {
	sessions := &claude.Backend{Env: d.host.agents}
	for _, t := range found.Manifest.Transcripts {
		from := filepath.Join(found.Dir, filepath.FromSlash(checkpoint.TranscriptName(t.Session)))
		if err := sessions.Place(t.Session, where(t.Dir), from); err != nil {
			return &fault{class: classRuntime, where: "transcript " + t.Session, what: err.Error()}
		}
	}
	return nil
}

// savedTrees are the tops of the git worktrees of which a checkpoint has work.
func savedTrees(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.json")); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	trees, err := workspace.Trees(dir)
	if err != nil {
		return nil, &fault{class: classBadState, where: "workspace", what: err.Error()}
	}
	var tops []string
	for _, t := range trees {
		tops = append(tops, t.Dir)
	}
	return tops, nil
}

func (x *action) restoreWork(ctx context.Context, from string, where func(string) string) error {
	restored, err := x.git().Restore(ctx, workspace.Restoring{
		From: from, Dir: where, Token: x.in.GitHubToken, ServerURL: x.app.Getenv("GITHUB_SERVER_URL"), TempRoot: x.dir,
	})
	var conflict *workspace.Conflict
	if errors.As(err, &conflict) {
		return &fault{class: classConflict, where: "workspace", what: conflict.Error(),
			hint: "check the repository out afresh; nothing was overwritten"}
	}
	if err != nil {
		return &fault{class: classRuntime, where: "workspace", what: err.Error()}
	}
	for _, note := range restored.Notes {
		x.notes = append(x.notes, note)
		x.log.Annotate(annotation("notice", note))
	}
	return nil
}

// git is git as the step uses it.
func (x *action) git() *workspace.Git {
	return &workspace.Git{Env: job.ScriptEnviron(x.app.Environ, nil)}
}

// install writes the files of a run that was taken up.
func (x *action) install(run *state.Run, from string) error {
	dir := filepath.Join(x.dir, run.WorkflowID)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	for _, name := range []string{"events.jsonl", "logs"} {
		err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// What an earlier try of this step left is of no more use than its machine.
	for _, ext := range []string{".json", ".journal"} {
		if err := os.RemoveAll(filepath.Join(x.dir, run.WorkflowID+ext)); err != nil {
			return err
		}
	}
	store, err := state.Create(x.dir, run.WorkflowID, holder())
	if err != nil {
		return err
	}
	return errors.Join(store.Fold(run, nil), store.Close())
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
	d.host.rest = func(run *state.Run) { last = x.atRest(ctx, d, run, take) }
	run, err := d.rest()
	x.run, x.code = run, int(d.code.Load())
	return errors.Join(err, last)
}

// saveBeside has the run stored every now and then.
func (x *action) saveBeside(d *drive, take func(*state.Run) (*image, error)) {
	x.depot.saver = keep.NewSaver(keep.SaverOptions[*image]{
		Save: x.depot.save, Stored: x.depot.slots.Stored, Interval: x.in.CheckpointInterval,
	})
	d.host.aside = asBodies(x.depot.saver.Events())
	began := time.Now()
	d.host.saved = func(run *state.Run, now time.Time) {
		if now.Sub(began) < x.in.CheckpointInterval || !x.depot.saver.Due(now) {
			return
		}
		if img, err := take(run); err == nil {
			x.depot.saver.Start(img)
		}
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
	cancelEnd   = 7 * time.Second
)

// atRest stores a run that has come to its end for this step, and tells so.
func (x *action) atRest(ctx context.Context, d *drive, run *state.Run, take func(*state.Run) (*image, error)) error {
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
	if err != nil && d.sinceSignal() >= 0 {
		return nil
	}
	return storeFault(err)
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
