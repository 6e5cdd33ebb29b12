package action

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// begin makes a new run, or puts the one that was found in its place.
func begin(ctx context.Context, s *step, now present, l lookup) (*readyRun, error) {
	b := &readyRun{flow: now.flow, base: baseOf(ctx, s)}
	b.began = checkpoints.Began{KeyOf: keyOf(s), Checkout: b.base, Input: digestOf(s.in.Input)}
	if !s.isLocal() {
		b.talks = conversations.NewNotes(filepath.Join(s.dirs.own, sessionsFile), s.note.seals)
	}
	err := lookAtCheckout(ctx, s, l, b)
	switch {
	case err != nil:
	case l.existing == nil && l.follows != nil:
		err = beginFollowUp(ctx, s, now.remarks, placed{l, b})
	case l.existing == nil && l.reruns != nil:
		err = beginRerun(ctx, s, now.remarks, placed{l, b})
	case l.existing == nil:
		err = fresh(s, b)
	default:
		err = resume(ctx, s, now.remarks, placed{l, b})
	}
	if err != nil {
		return nil, err
	}
	if b.store != nil {
		err = limit(ctx, s, now.remarks, placed{l, b})
	}
	if err == nil && s.isLocal() {
		err = noteLocal(s, b)
	}
	if err != nil && b.store != nil {
		return nil, errors.Join(err, b.store.Close())
	}
	return b, err
}

// lookAtCheckout looks at what agents find, before anything of theirs is put back, if a script gets their work.
func lookAtCheckout(ctx context.Context, s *step, l lookup, b *readyRun) (err error) {
	jobs := s.options.Jobs
	if s.isLocal() { // another job may continue the run where it is
		jobs = nil
	}
	if !b.flow.HandsOver(jobs) {
		return nil
	}
	if e := l.existing; e != nil && e.found == nil { // on this machine, where agents have been
		b.checkout, _ = snapshots.Kept(s.runDir(e.run.WorkflowID))
		return nil
	}
	if b.checkout, err = snapshots.Look(ctx, s.git(), s.dirs.work, s.getenv("GITHUB_SHA")); err != nil {
		return machineProblem("the checkout", err)
	}
	return nil
}

// limit has the run held to the budgets of the step, checks what it may not do, and plans its
// report.
func limit(ctx context.Context, s *step, r *remarks, b placed) error {
	if err := openBook(ctx, s, r, b); err != nil {
		return err
	}
	if err := errors.Join(checkSandbox(s, b.options().SkipPermissions), checkPrompts(s, b.readyRun), checkPrices(s, b.readyRun)); err != nil {
		return err
	}
	return planReport(s, b.readyRun)
}

// noteLocal keeps whose a run in the state folder is, and how it began.
func noteLocal(s *step, b *readyRun) error {
	note := localNote{s.key, s.event.Subject, s.note.get().Untrusted}
	err := errors.Join(seal.WriteNote(s.fileOfRun(b.run.WorkflowID, localFile), note), seal.WriteNote(s.fileOfRun(b.run.WorkflowID, beganFile), b.began))
	if _, isKept := snapshots.Kept(s.runDir(b.run.WorkflowID)); err == nil && !isKept && b.checkout.Base != "" {
		err = b.checkout.Keep(s.runDir(b.run.WorkflowID))
	}
	return err
}

// checkPrices reports states that can't be held to the budget.
func checkPrices(s *step, b *readyRun) error {
	if s.in.NoPrompts {
		return nil
	}
	return session.CheckPrices(s.options, b.flow.Workflow, b.options())
}

// fresh makes a new run.
func fresh(s *step, b *readyRun) error {
	f := b.flow
	o := s.options
	o.WorkflowID = job.WorkflowID(s.key, uuid.NewString()[:8])
	o.Input = job.ScriptInput(s.event, s.in.Input)
	if st, _ := f.Workflow.State(f.Workflow.Entry()); st.Kind == protocol.Prompt {
		o.Input = job.Input(s.event, s.in.Input)
	}
	return beginRun(s, b)
}

// beginRun makes the run that the options describe.
func beginRun(s *step, b *readyRun) error {
	o := s.options
	run, warnings, err := session.NewRun(o, b.flow.Scope, s.dirs.work)
	if err != nil {
		return err
	}
	if err := session.CheckAgents(&run.Options, b.flow.Scope, o.Jobs); err != nil {
		return err
	}
	tellWarnings(s, warnings)
	return keep(s, b, run)
}

// tellWarnings tells what is odd about a new run, unless the step is quiet.
func tellWarnings(s *step, warnings []string) {
	if s.options.Quiet {
		return
	}
	for _, w := range warnings {
		s.env.warn(w)
	}
}

// keep makes a new run the one that the step drives.
func keep(s *step, b *readyRun, run *state.Run) (err error) {
	b.run = run
	if err := noteRun(s, run); err != nil {
		return err
	}
	if b.store, err = state.Create(s.dirs.state, run.WorkflowID, session.Holder()); err == nil {
		b.store.SetSeal(s.note.seals)
	}
	return err
}

// noteRun keeps which run the step drives.
func noteRun(s *step, run *state.Run) error {
	if s.isBuiltin() {
		for _, dir := range []string{s.runDir(run.WorkflowID), s.dirs.state} { // where copies of it are made
			s.voice.rename(filepath.Join(dir, "scope"), s.in.Workflow)
		}
	}
	if err := sealEvent(s); err != nil {
		return machineProblem("GITHUB_EVENT_PATH", err)
	}
	return s.note.setRun(s.key, run)
}

// resume puts a run in its place: here, after what belongs to it is back.
func resume(ctx context.Context, s *step, r *remarks, b placed) error {
	e := b.existing
	if err := noteRun(s, e.run); err != nil {
		return err
	}
	b.began = beginningOf(s, e)
	differences(s, e, b.base, r)
	b.isResumed, b.run = true, e.run
	if e.found != nil {
		run, err := putBack(ctx, s, r, b)
		if err != nil {
			return err
		}
		b.run = run
	} else if err := bringLocal(s, e.run.WorkflowID, e.run); err != nil {
		return err
	}
	if b.isOver() {
		return nil
	}
	now := s.options.Alone() // never what a state file says, which agents could have written
	file := filepath.Join(s.dirs.state, b.run.WorkflowID+".json")
	err := errors.Join(session.CheckResume(&now, b.run, b.flow.Scope, file), session.CheckAgents(&now, b.flow.Scope, s.options.Jobs))
	if err != nil {
		return err
	}
	if s.part() != nil {
		now.BudgetUSD = shareOf(b, now.BudgetUSD)
	}
	b.changed = &now
	if b.store, b.readyRun.run, err = state.Open(s.dirs.state, b.run.WorkflowID, session.Holder()); err != nil {
		return err
	}
	b.store.SetSeal(s.note.seals)
	takeMeta(s, b.run, r)
	if !isTold(s) { // somebody else has continued the run
		b.run.Progress.Continuations = 0
	}
	return nil
}

// showAgain shows what a run that is completed has left: its outputs and its page.
// Nothing starts, and nothing is stored.
func showAgain(s *step, r *result, l lookup, b *readyRun) error {
	o, err := session.Replay(session.Setup{
		Options: s.options, Scope: b.flow.Scope, Run: b.run, Resumed: true, Dir: s.runDir(b.run.WorkflowID),
		Hide: session.Hide{Events: s.voice.shown}, Out: session.Out{Stdout: s.env.Stdout, Stderr: s.env.Stderr, Seal: s.note.seals},
	})
	if err != nil {
		return err
	}
	r.run, r.kept.artifact = b.run, l.found.Artifact.Name
	r.kept.named = slots.Named{WorkflowID: b.run.WorkflowID, Generation: l.found.Manifest.Generation, Digest: l.found.Digest}
	r.page, err = r.newPage(s, b, o.Events)
	o.Close()
	if r.page != nil {
		r.page.written()
	}
	return err
}
