package action

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
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
	defer s.log.out.Close()
	if err == nil {
		err = post(context.Background(), s)
	}
	var all []*problem.Problem
	for _, p := range problem.Flatten(err) {
		p = forJob(s.log, p)
		annotate(s.log, "", p)
		all = append(all, p)
	}
	return errors.Join(joined(all), s.log.out.Close())
}

// post finishes what the main part has left, and removes what that was making when it
// was killed.
func post(ctx context.Context, s *step) error {
	s.dirs.own = ownOfMain(s.env.Getenv)
	if s.dirs.own == "" {
		return nil // the main part came to nothing
	}
	reopen(s.dirs.own)
	isLate, err := s.env.Process.endDrivers(s.dirs.own, graceOfMain)
	if err != nil {
		return err
	}
	if err = readNote(s); err == nil {
		e := &ending{}
		if err = finishLeft(ctx, s, e, isLate); !isDenied(err) {
			err = errors.Join(err, releaseLeft(ctx, s), clearConversations(s, e))
		}
	}
	if isDenied(err) {
		err = errors.Join(err, abandon(ctx, s))
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	if left := clearAway(s.dirs, err != nil); left != nil {
		s.log.warn("not everything that the step has made for itself could be removed: " + left.Error())
	}
	return err
}

// readNote reads what the main part has noted, and what the step was given. Inputs that are wrong were the main part's
// matter, and then there is no note, which is errDone; where there is one, something that it was given has changed since.
func readNote(s *step) error {
	s.note.file = filepath.Join(s.dirs.own, stepFile)
	err := checkpoints.ReadNote(s.note.file, &s.note.data)
	isMissing := errors.Is(err, os.ErrNotExist)
	files, guardErr := job.GuardFiles(s.env.Getenv)
	s.files = files
	_, inputErr := readInputs(s)
	if sealErr := checkSeals(s); sealErr != nil {
		return sealErr
	}
	if isMissing {
		return errDone
	}
	if err := errors.Join(err, problem.OfMachine("command files", guardErr), inputErr); err != nil {
		return err
	}
	note := &s.note.data
	isCalled := note.Called && s.event.Comment.Kind != ""
	if note.WorkflowID == "" && !isCalled {
		note.Key = s.key // it came no further than to look for a run
	}
	if note.Key != s.key && !isCalled || note.WorkflowID != "" && !state.ValidID(note.WorkflowID) {
		return &problem.Problem{Class: problem.ClassConflict, Where: stepFile, What: "is not what the main part of this step wrote; nothing is stored"}
	}
	s.key = note.Key
	if note.WorkflowID != "" { // without an id, the step has not found its run yet
		s.event.Subject = note.Subject
	}
	return nil
}

// abandon gives up a run of which something was altered. Nothing of it is stored; what
// it holds and has left is found by those notes alone that are as they were written.
func abandon(ctx context.Context, s *step) error {
	defer bookAltered(ctx, s)
	if !isIntact(s, stepFile) {
		s.note.data = noteData{}
		s.log.warn("the step's own note was altered: what agents of this step may have left running is not ended")
		return nil
	}
	note := s.note.get()
	s.key = cmp.Or(note.Key, s.key)
	var errs []error
	if note.Mark != "" {
		errs = append(errs, session.Sweep(note.Mark))
	}
	errs = append(errs, releaseLeft(ctx, s))
	if isIntact(s, sessionsFile) {
		own, err := checkpoints.ReadTalks(filepath.Join(s.dirs.own, sessionsFile))
		warnOfKept(s.log, checkpoints.ClearTalks(conversationsOf(s), own, checkpoints.Chain{}, true))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// finishLeft finishes what the main part has left of a run, unless the key of it
// is another's: it ends what still runs, stores the end and shows it, unless that
// is done. A run of a shared folder that somebody drives is theirs.
func finishLeft(ctx context.Context, s *step, e *ending, isLate bool) error {
	note := s.note.get()
	if note.Lost {
		return session.Sweep(note.Mark)
	}
	reopen(s.dirs.state)
	ids, err := state.List(s.dirs.state)
	if err != nil || !slices.Contains(ids, note.WorkflowID) {
		return err
	}
	file, run, err := state.Open(s.dirs.state, note.WorkflowID, session.Holder())
	_, isLocked := errors.AsType[*state.LockedError](err)
	switch {
	case isLocked && s.in.IsLocal():
		return nil
	case err != nil && !isLocked:
		bookAltered(ctx, s)
	case err == nil:
		defer file.Close()
		// Nobody writes any more after this: neither the main part nor what it has left.
		err = session.Sweep(note.Mark)
	}
	if err == nil {
		err = checkSeals(s)
	}
	if err != nil {
		return err
	}
	s.log.spareStates(slices.Collect(maps.Keys(run.Files)))
	lost := completeRun(s, file, run)
	e.run, e.take = run, func(run *state.Run) (*checkpoints.Snapshot, error) {
		return checkpoints.Take(run, s.dirs.run(run.WorkflowID), conversationsOf(s), nil)
	}
	e.tell = func(ctx context.Context) {
		if err := finishLeftPage(ctx, s, e, isLate); err != nil {
			s.log.warn("the page can't be completed: " + err.Error())
		}
	}
	if e.to, e.unstored = openLeft(ctx, s, e); e.to != nil && lost != nil && !errors.Is(lost, syscall.ENOSPC) { // else the next job completes it
		e.to, e.unstored = nil, lost
	}
	return finish(ctx, s, e)
}

// releaseLeft gives up the key that the main part has claimed. A service that
// fails leaves a claim whose job is over, which keeps nobody off.
func releaseLeft(ctx context.Context, s *step) error {
	if s.note.get().Claim == "" {
		return nil
	}
	if s.stored.runtime == nil {
		return s.stored.err
	}
	ctx, cancel := context.WithTimeout(ctx, orphanSave)
	defer cancel()
	if err := newClaimer(s).Release(ctx); err != nil {
		s.log.warn(err.Error())
	}
	return nil
}

// openLeft returns where the end of a run is to be stored; nil where it was, or nothing of it was to be stored.
func openLeft(ctx context.Context, s *step, e *ending) (*storage, error) {
	run, dir := e.run, s.dirs.run(e.run.WorkflowID)
	chain, err := checkpoints.ReadChain(dir)
	if errors.Is(err, os.ErrNotExist) || s.in.IsLocal() {
		return nil, nil
	}
	if err := errors.Join(err, s.stored.err); err != nil || s.stored.runtime == nil {
		return nil, err
	}
	e.kept.artifact = chain.Name
	if run.Progress.Seq == chain.Seq && run.Progress.Status == chain.Status {
		e.kept.isWhole = true
		return nil, nil
	}
	store := newStore(s, checkpoints.Options{Base: baseOf(ctx, s), Dir: dir, Chain: chain})
	return &storage{store: store, saver: store.NewSaver(s.in.CheckpointInterval)}, nil
}

// clearConversations removes the conversations that this step has made or put back
// from the agent CLI's folder: on a machine that many jobs share they would stay
// there, secrets in clear. They stay when the end of the run could not be stored,
// and with store: local.
func clearConversations(s *step, e *ending) error {
	own, err := checkpoints.ReadTalks(filepath.Join(s.dirs.own, sessionsFile))
	if err != nil || len(own) == 0 || s.in.IsLocal() {
		return err
	}
	note := s.note.get()
	c, err := checkpoints.ReadChain(s.dirs.run(note.WorkflowID))
	if e.to != nil && e.kept.isWhole { // a full disk may have kept it from the file
		c, err = e.to.store.Chain(), nil
	}
	isUnstored := note.Lost || errors.Is(err, os.ErrNotExist) // and never will be
	if err != nil && !isUnstored || !isUnstored && !e.kept.isWhole {
		return nil
	}
	warnOfKept(s.log, checkpoints.ClearTalks(conversationsOf(s), own, c, isUnstored))
	return nil
}

// warnOfKept names the sessions whose conversations could not be removed.
func warnOfKept(log *jobLog, sessions []string) {
	if len(sessions) > 0 {
		log.warn("these conversations of agents could not be removed from the agent CLI's folder: " + strings.Join(sessions, ", "))
	}
}
