package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/conversations"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/seal"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/state"
)

// Post runs at the end of the job, however the main part ended. It takes nothing
// from the main part but the files of its run, which are checked like those of any
// run. Its error has the problems that decide on the exit code; all of them are
// told.
func Post(e Env) error {
	err := e.Process.Protect()
	s := newStep(e, e.Stdout, true)
	defer s.voice.log.Close()
	if err == nil {
		err = post(context.Background(), s)
	}
	var all []*problem.Problem
	for _, p := range problem.All(err) {
		p = forJob(s, p)
		annotate(s, result{}, p)
		all = append(all, p)
	}
	return errors.Join(joined(all), s.voice.log.Close())
}

// post finishes what the main part has left, and removes what that was making when it
// was killed.
func post(ctx context.Context, s *step) error {
	s.dirs.own = ownOfMain(s.getenv)
	if s.dirs.own == "" {
		return nil // the main part came to nothing
	}
	_ = os.Chmod(filepath.Dir(s.dirs.own), 0o700)
	reopen(s.dirs.own)
	if err := s.env.Process.endDrivers(s.dirs.own, graceOfMain); err != nil {
		return err
	}
	return errors.Join(finish(ctx, s), checkpoints.Clear(s.dirs.own))
}

// finish ends what the main part left running, and stores what is left to store.
// Inputs that are wrong were the main part's matter, and then there is nothing;
// where there is, something that it was given has changed since.
func finish(ctx context.Context, s *step) error {
	s.note.file = filepath.Join(s.dirs.own, stepFile)
	err := seal.ReadNote(s.note.file, &s.note.data)
	isMissing := errors.Is(err, os.ErrNotExist)
	guardErr := guardFiles(s)
	_, prepareErr := prepare(s)
	prepareErr = errors.Join(guardErr, prepareErr)
	if sealErr := checkSeals(s); isDenied(sealErr) {
		return errors.Join(sealErr, abandon(ctx, s))
	} else if sealErr != nil || isMissing {
		return sealErr // where there is no run, inputs that are wrong were the main part's matter
	}
	if err != nil || prepareErr != nil {
		return errors.Join(err, prepareErr)
	}
	note := &s.note.data
	isCalled := note.Called && s.event.About.Kind != ""
	if note.WorkflowID == "" && !isCalled {
		note.Key = s.key // it came no further than to look for a run
	}
	if note.Key != s.key && !isCalled || note.WorkflowID != "" && !state.ValidID(note.WorkflowID) {
		return &problem.Problem{Class: problem.ClassConflict, Where: stepFile, What: "is not what the main part of this step wrote; nothing is stored"}
	}
	s.key = note.Key
	if s.event.Number == 0 {
		s.event.Subject = note.Subject
	}
	return finishNoted(ctx, s)
}

// finishNoted ends what the main part left running, and stores what is left to store, of
// the run that it has noted.
func finishNoted(ctx context.Context, s *step) (err error) {
	var v services
	if !s.isLocal() {
		if v, err = s.openServices(); err != nil {
			return err
		}
	}
	var r result
	err = finishLeft(ctx, s, &r, v)
	if isDenied(err) {
		return errors.Join(err, abandon(ctx, s))
	}
	return errors.Join(err, releaseLeft(ctx, s, v), clearConversations(s, r.kept))
}

// abandon gives up a run of which something was altered. Nothing of it is stored; what
// it holds and has left is found by those notes alone that are as they were written.
func abandon(ctx context.Context, s *step) error {
	defer bookAltered(ctx, s)
	if !isIntact(s, stepFile) {
		s.note.data = noteData{}
		s.voice.warn("the step's own note was altered: what agents of this step may have left running is not ended")
		return nil
	}
	note := s.note.get()
	s.key = cmp.Or(note.Key, s.key)
	var errs []error
	if note.Mark != "" {
		errs = append(errs, session.Sweep(note.Mark))
	}
	v, err := s.openServices()
	if err == nil {
		err = releaseLeft(ctx, s, v)
	}
	errs = append(errs, err)
	if isIntact(s, sessionsFile) {
		own, err := conversations.Read(filepath.Join(s.dirs.own, sessionsFile))
		warnOfKept(s, conversations.Clear(conversationsOf(s), own, nil, true))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// finishLeft finishes what the main part has left of a run, unless the key of it
// is another's: it ends what still runs, stores the end and shows it, unless that
// is done. A run of a shared folder that somebody drives is theirs.
func finishLeft(ctx context.Context, s *step, r *result, v services) error {
	note := s.note.get()
	if note.Lost {
		return session.Sweep(note.Mark)
	}
	reopen(s.dirs.state)
	ids, err := state.List(s.dirs.state)
	if err != nil || !slices.Contains(ids, note.WorkflowID) {
		return err
	}
	store, run, err := state.Open(s.dirs.state, note.WorkflowID, session.Holder())
	var locked *state.LockedError
	isLocked := errors.As(err, &locked)
	switch {
	case isLocked && s.isLocal():
		return nil
	case err != nil && !isLocked:
		bookAltered(ctx, s)
	case err == nil:
		defer store.Close()
		// Nobody writes any more after this: neither the main part nor what it has left.
		err = session.Sweep(note.Mark)
	}
	if err == nil {
		err = checkSeals(s)
	}
	if err != nil {
		return err
	}
	s.voice.spareStates(slices.Collect(maps.Keys(run.Files)))
	if err := bookLeft(ctx, s, store, run); err != nil {
		s.voice.warn(notBooked(err))
	}
	storeErr := storeLeft(ctx, s, r, left{services: v, run: run})
	var oops error
	if r.kept.report, oops = storeReport(ctx, s, run); oops != nil {
		s.voice.notice(notReported(oops))
	}
	if r.run = run; storeErr == nil {
		continueRun(ctx, s, r)
	}
	p, err := leftPage(s, r.kept, run, r.outlook(s, run).Text)
	if err != nil {
		s.voice.warn("the page can't be completed: " + err.Error())
	}
	return errors.Join(storeErr, p.completeComment(ctx))
}

// releaseLeft gives up the key that the main part has claimed. A service that
// fails leaves a claim whose job is over, which keeps nobody off.
func releaseLeft(ctx context.Context, s *step, v services) error {
	if s.note.get().Claim == "" || v.runtime == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, orphanSave)
	defer cancel()
	if err := newClaimer(s, v).Release(ctx); err != nil {
		s.voice.warn(err.Error())
	}
	return nil
}

// left is a run that the main part has left.
type left struct {
	services
	run   *state.Run
	chain checkpoints.Chain // its last checkpoint
}

// storeLeft stores the end of a run, unless that is stored.
func storeLeft(ctx context.Context, s *step, r *result, l left) error {
	var err error
	l.chain, err = checkpoints.ReadChain(s.runDir(l.run.WorkflowID))
	if errors.Is(err, os.ErrNotExist) || l.runtime == nil {
		return nil // nothing of it was to be stored
	}
	if err != nil {
		return err
	}
	r.kept.artifact = l.chain.Name
	if l.run.Progress.Seq == l.chain.Seq && l.run.Progress.Status == l.chain.Status {
		r.kept.isWhole = true
		return nil
	}
	return storeRun(ctx, s, r, l)
}

// storeRun stores a run whose last checkpoint is older than its state.
func storeRun(ctx context.Context, s *step, r *result, l left) error {
	id := l.run.WorkflowID
	r.store = newStore(s, l.services, checkpoints.Options{Base: baseOf(ctx, s), Dir: s.runDir(id), Chain: l.chain})
	if err := r.store.AdoptSent(ctx); err != nil {
		return err
	}
	if err := completeLog(s, l.run); err != nil {
		return err
	}
	shot, err := checkpoints.Take(l.run, s.runDir(id), conversationsOf(s), nil)
	if err != nil {
		return err
	}
	shot.Last = true
	ctx, cancel := context.WithTimeout(ctx, lastSave)
	defer cancel()
	stored, err := r.store.Save(ctx, shot)
	if err != nil {
		return storeProblem(err)
	}
	s.voice.print(fmt.Sprintf("stored %s at step %d (%s) as %s", id, stored.SeqStored, l.run.Progress.Status, stored.Store))
	r.kept = kept{artifact: stored.Store, isWhole: true, byPost: true}
	return nil
}

// clearConversations removes the conversations that this step has made or put back
// from the agent CLI's folder: on a machine that many jobs share they would stay
// there, secrets in clear. They stay when the end of the run could not be stored,
// and with store: local.
func clearConversations(s *step, k kept) error {
	own, err := conversations.Read(filepath.Join(s.dirs.own, sessionsFile))
	if err != nil || len(own) == 0 || s.isLocal() {
		return err
	}
	note := s.note.get()
	c, err := checkpoints.ReadChain(s.runDir(note.WorkflowID))
	isUnstored := note.Lost || errors.Is(err, os.ErrNotExist) // and never will be
	if err != nil && !isUnstored || !isUnstored && !k.isWhole {
		return nil
	}
	warnOfKept(s, conversations.Clear(conversationsOf(s), own, c.Sessions, isUnstored))
	return nil
}

// warnOfKept names the sessions whose conversations could not be removed.
func warnOfKept(s *step, sessions []string) {
	if len(sessions) > 0 {
		s.voice.warn("these conversations of agents could not be removed from the agent CLI's folder: " + strings.Join(sessions, ", "))
	}
}
