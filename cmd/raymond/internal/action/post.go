package action

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// Post runs the post phase at the end of the job, however the main phase ended. It uses only the
// files that the main phase left for its run, and checks them like the files of any run. It has
// reported all problems in the job's log when it returns. Its error contains the problems that
// determine the exit code.
func Post(e Env) error {
	err := e.Process.Protect()
	s := &scratch{log: newLog(job.NewLogWriter(e.Stdout, e.Getenv("GITHUB_WORKSPACE")), false), note: &postNote{}}
	defer s.log.out.Close()
	if err == nil {
		err = post(context.Background(), e, s)
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
func post(ctx context.Context, e Env, s *scratch) error {
	own := ownOfMain(e.Getenv)
	if own == "" {
		return nil // the main phase created no directory
	}
	reopen(own)
	isLate, err := e.Process.endDrivers(own, mainGrace)
	if err != nil {
		return err
	}
	j, err := readNote(e, s, own)
	if err == nil {
		err = complete(ctx, j, s, isLate)
	}
	if isDenied(err) {
		err = errors.Join(err, abandon(ctx, j, s))
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	if left := s.clear(err != nil); left != nil {
		s.log.Warn("could not remove all files of the step: " + left.Error())
	}
	return err
}

// readNote reads the note of the main phase and the inputs of the step. Without a note it returns
// errDone, because the main phase has already reported wrong inputs. With a note, wrong inputs mean
// that they have changed since the main phase.
func readNote(e Env, s *scratch, own string) (*Job, error) {
	s.note.file = filepath.Join(own, noteFile)
	noteErr := files.ReadJSON(s.note.file, &s.note.data)
	var guardErr error
	s.files, guardErr = job.GuardFiles(e.Getenv)
	s.own = own
	j, hasDirs, inputErr := readInputs(e, s.log)
	if hasDirs {
		inputErr = errors.Join(inputErr, s.locate(j), s.setOwn(j, own))
	}
	s.git = newGit(e, j.in, s.dirs, j.options.Cage)
	s.conversations = store.NewConversationLog(filepath.Join(own, conversationsFile), s.integrity)
	if err := s.checkUnaltered(j); err != nil {
		return j, err
	}
	if errors.Is(noteErr, fs.ErrNotExist) {
		return j, errDone
	}
	if err := errors.Join(noteErr, problem.OfMachine("command files", guardErr), inputErr); err != nil {
		return j, err
	}
	note := &s.note.data
	isAnswer := note.Answers && j.event.Comment.Kind != ""
	if note.WorkflowID == "" && !isAnswer {
		note.Key = j.key.Name // the main phase only looked for a run
	}
	if note.Key != j.key.Name && !isAnswer || note.WorkflowID != "" && !state.ValidID(note.WorkflowID) {
		return j, &problem.Problem{Class: problem.ClassConflict, Where: noteFile, What: "does not match the note that the main phase of this step wrote; nothing is stored"}
	}
	j.key = store.Key{Name: note.Key, Part: note.Part}
	if note.WorkflowID != "" { // without an id, the step had not found its run yet
		j.event.Subject = note.Subject
	}
	return j, nil
}

// reopenLease returns the lease of the main phase.
func reopenLease(j *Job, s *scratch) (store.Lease, error) {
	note := s.note.get()
	return j.env.newStore(s.storeConfig(j, true)).Reopen(store.Note{
		Key: j.key, WorkflowID: note.WorkflowID, Claim: note.Claim, IsLost: note.Lost, IsRestored: note.Restored,
		About: j.event.Subject, Untrusted: note.Untrusted, Agents: agentsIn(j, cliDir(j, s.dirs, note.WorkflowID)),
	})
}

// complete completes a run that the main phase has left, releases its key and removes its
// conversations.
func complete(ctx context.Context, j *Job, s *scratch, isLate bool) error {
	lease, err := reopenLease(j, s)
	if err != nil {
		return err
	}
	if err = completeEnd(ctx, j, s, lease, isLate); isDenied(err) {
		return err
	}
	release(ctx, s.log, lease, Deadline{isLast: true}, false)
	return errors.Join(err, removeConversations(s, lease))
}

// completeEnd ends processes of the run that still run, and stores and shows the end if this is not
// done yet, unless another job has its key. It leaves a local run alone if another process drives it.
func completeEnd(ctx context.Context, j *Job, s *scratch, lease store.Lease, isLate bool) error {
	note := s.note.get()
	if note.Lost {
		return session.Sweep(note.Mark)
	}
	reopen(s.state)
	ids, err := journal.List(s.state)
	if err != nil || !slices.Contains(ids, note.WorkflowID) {
		return err
	}
	file, run, err := lease.Restore(ctx, nil, store.Target{})
	_, isLocked := errors.AsType[*journal.LockedError](err)
	switch {
	case errors.Is(err, store.ErrDriven):
		return nil
	case err != nil && !isLocked:
		recordMaximum(ctx, j, s)
	case err == nil:
		defer file.Close()
		// After this, neither the main phase nor its processes write anymore.
		err = session.Sweep(note.Mark)
	}
	if err == nil {
		err = s.checkUnaltered(j)
	}
	if err != nil {
		return err
	}
	s.log.exemptStates(slices.Collect(maps.Keys(run.Files)))
	c := Conclusion{run: run, status: run.Progress.Status, receipt: lease.Receipt(), whyLost: whyLost, byPost: true}
	if c.status == state.Running { // the process that drove it is gone
		c.status = state.Cancelled
	}
	// On a full disk the run is stored nevertheless, and the next job completes its log.
	if lost := completeRun(j, s, file, run); !errors.Is(lost, syscall.ENOSPC) && c.receipt.Place == store.Elsewhere && !c.receipt.IsWhole {
		c.unstored = lost
	}
	c, err = finish(ctx, j, s, lease, advisor{job: j, deadline: Deadline{isLast: true}}, c)
	if shown := finishPendingPage(ctx, j, s, c, isLate); shown != nil {
		s.log.Warn("could not complete the page: " + shown.Error())
	}
	return err
}

// removeConversations removes the conversations that this step has created or restored from the
// directories of the agent CLIs.
func removeConversations(s *scratch, lease store.Lease) error {
	own, err := store.ReadConversations(filepath.Join(s.own, conversationsFile))
	if failed := lease.RemoveConversations(own); len(failed) > 0 {
		s.log.Warn("could not remove these conversations of agents from the agent CLI's directory: " + strings.Join(failed, ", "))
	}
	return err
}

// abandon gives up a run whose files were altered. It does not store the run. It releases the key,
// ends processes and removes conversations, as far as the notes about them are unaltered.
func abandon(ctx context.Context, j *Job, s *scratch) error {
	defer recordMaximum(ctx, j, s)
	if !s.isIntact(j, noteFile) {
		s.note.data = noteData{}
		s.log.Warn("the note of this step was altered, so processes that its agents may have left running are not ended")
		return nil
	}
	note := s.note.get()
	j.key = store.Key{Name: cmp.Or(note.Key, j.key.Name), Part: note.Part}
	s.note.data.Lost = true // nothing more of the run is stored
	var errs []error
	if note.Mark != "" {
		errs = append(errs, session.Sweep(note.Mark))
	}
	lease, err := reopenLease(j, s)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	release(ctx, s.log, lease, Deadline{isLast: true}, false)
	if s.isIntact(j, conversationsFile) {
		errs = append(errs, removeConversations(s, lease))
	}
	return errors.Join(errs...)
}
