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
	"github.com/raymond-action/raymond-action/state/journal"
)

// Post runs the post phase at the end of the job, however the main phase ended. It uses only the
// files that the main phase left for its run, and checks them like the files of any run. It has
// reported all problems in the job's log when it returns. Its error contains the problems that
// determine the exit code.
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

// post completes the work of the main phase, and removes the files that a killed main phase left
// half written.
func post(ctx context.Context, s *step) error {
	s.dirs.own = ownOfMain(s.env.Getenv)
	if s.dirs.own == "" {
		return nil // the main phase created no directory
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
		s.log.warn("could not remove all files of the step: " + left.Error())
	}
	return err
}

// readNote reads the note of the main phase and the inputs of the step. Without a note it returns
// errDone, because the main phase has already reported wrong inputs. With a note, wrong inputs mean
// that they have changed since the main phase.
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
		note.Key = s.key // the main phase only looked for a run
	}
	if note.Key != s.key && !isCalled || note.WorkflowID != "" && !state.ValidID(note.WorkflowID) {
		return &problem.Problem{Class: problem.ClassConflict, Where: stepFile, What: "does not match the note that the main phase of this step wrote; nothing is stored"}
	}
	s.key = note.Key
	if note.WorkflowID != "" { // without an id, the step had not found its run yet
		s.event.Subject = note.Subject
	}
	return nil
}

// abandon gives up a run whose files were altered. It does not store the run. It releases the key,
// ends processes and removes conversations, as far as the notes about them are unaltered.
func abandon(ctx context.Context, s *step) error {
	defer bookAltered(ctx, s)
	if !isIntact(s, stepFile) {
		s.note.data = noteData{}
		s.log.warn("the note of this step was altered, so processes that its agents may have left running are not ended")
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

// finishLeft completes a run that the main phase has left, unless another job has its key: it ends
// processes that still run, and stores and shows the end if this is not done yet. It leaves a local
// run alone if another process drives it.
func finishLeft(ctx context.Context, s *step, e *ending, isLate bool) error {
	note := s.note.get()
	if note.Lost {
		return session.Sweep(note.Mark)
	}
	reopen(s.dirs.state)
	ids, err := journal.List(s.dirs.state)
	if err != nil || !slices.Contains(ids, note.WorkflowID) {
		return err
	}
	file, run, err := journal.Open(s.dirs.state, note.WorkflowID, session.Holder())
	_, isLocked := errors.AsType[*journal.LockedError](err)
	switch {
	case isLocked && s.in.IsLocal():
		return nil
	case err != nil && !isLocked:
		bookAltered(ctx, s)
	case err == nil:
		defer file.Close()
		// After this, neither the main phase nor its processes write anymore.
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
			s.log.warn("could not complete the page: " + err.Error())
		}
	}
	if e.to, e.unstored = openLeft(ctx, s, e); e.to != nil && lost != nil && !errors.Is(lost, syscall.ENOSPC) { // on a full disk the run is stored nevertheless, and the next job completes its log
		e.to, e.unstored = nil, lost
	}
	return finish(ctx, s, e)
}

// releaseLeft releases the key that the main phase claimed. If the service fails, the claim stays,
// but it stops no other job because its job is over.
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

// openLeft returns the storage for the end of a run, or nil if the end is stored already or must
// not be stored.
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
	return &storage{store: store, saver: store.NewSaver(s.env.Interval)}, nil
}

// clearConversations removes the conversations that this step has created or restored from the
// directories of the agent CLIs. On a shared machine they would stay there, with secrets in clear
// text. They stay if the end of the run could not be stored, and with store: local.
func clearConversations(s *step, e *ending) error {
	own, err := checkpoints.ReadTalks(filepath.Join(s.dirs.own, sessionsFile))
	if err != nil || len(own) == 0 || s.in.IsLocal() {
		return err
	}
	note := s.note.get()
	c, err := checkpoints.ReadChain(s.dirs.run(note.WorkflowID))
	if e.to != nil && e.kept.isWhole { // on a full disk, the file may be out of date
		c, err = e.to.store.Chain(), nil
	}
	isUnstored := note.Lost || errors.Is(err, os.ErrNotExist) // and never will be
	if err != nil && !isUnstored || !isUnstored && !e.kept.isWhole {
		return nil
	}
	warnOfKept(s.log, checkpoints.ClearTalks(conversationsOf(s), own, c, isUnstored))
	return nil
}

// warnOfKept warns about conversations that could not be removed, by their sessions.
func warnOfKept(log *jobLog, sessions []string) {
	if len(sessions) > 0 {
		log.warn("could not remove these conversations of agents from the agent CLI's directory: " + strings.Join(sessions, ", "))
	}
}
