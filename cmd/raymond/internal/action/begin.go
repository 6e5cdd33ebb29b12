package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// readyRun is a run that was created or restored on this machine and is ready to be driven.
type readyRun struct {
	lookup
	run      *state.Run
	file     *journal.File
	changed  *state.Options // new options of the run; nil if they don't change
	began    checkpoints.Began
	flow     *flow
	base     string             // the commit that the job checked out; "" for none
	talks    *checkpoints.Talks // nil: conversations are not removed
	hasWork  bool               // work of agents was restored into the workspace
	checkout session.Checkout   // zero if no script gets the agents' work
	to       *storage           // nil: the run is not stored
}

// options returns the options with which the run continues.
func (b *readyRun) options() *state.Options {
	if b.changed != nil {
		return b.changed
	}
	return &b.run.Options
}

// begin creates a run or restores the run that was found, and opens the storage for its
// checkpoints.
func begin(ctx context.Context, s *step, p *prepared, l lookup) (b *readyRun, err error) {
	if err := adopt(s, p, l); err != nil {
		return nil, err
	}
	b = &readyRun{lookup: l, flow: p.flow, base: baseOf(ctx, s)}
	b.began = checkpoints.Began{KeyOf: keyOf(s.event, s.in), Checkout: b.base, Input: digestOf(s.in.Input), Supersedes: l.supersedes}
	if !s.in.IsLocal() {
		b.talks = checkpoints.NewTalks(filepath.Join(s.dirs.own, sessionsFile), s.note.seals)
	}
	if err = lookAtCheckout(ctx, s, b); err == nil {
		err = putInPlace(ctx, s, b)
	}
	_, isLocked := errors.AsType[*journal.LockedError](err)
	switch {
	case p.heard != nil && isLocked:
		err = s.log.end("nothing is started: another job drives the run and will read this comment")
	case err == nil && b.how != shows:
		err = limit(ctx, s, b)
	}
	if err == nil && s.in.IsLocal() {
		err = noteLocal(s, b)
	}
	if err == nil && b.how != shows {
		b.to, err = openStorage(s, b)
	}
	if err != nil && b.file != nil {
		err = errors.Join(err, b.file.Close())
	}
	return b, err
}

// putInPlace creates the run or restores it.
func putInPlace(ctx context.Context, s *step, b *readyRun) error {
	switch b.how {
	case follows:
		return beginFollowUp(ctx, s, b)
	case reruns:
		return beginRerun(ctx, s, b)
	case begins:
		if len(s.in.InputFrom) > 0 && s.in.Input == "" {
			return problem.Usage("input input-from", "the payload of this "+s.event.Name+" event contains none of the fields "+strings.Join(s.in.InputFrom, ", "),
				"name fields of the payload, such as issue.body for issue events; the file GITHUB_EVENT_PATH contains the payload")
		}
		w, input := b.flow.Workflow, job.CleanScriptInput
		if st, _ := w.State(w.Entry()); st.Kind == protocol.Prompt {
			input = job.CleanPromptInput
		}
		return beginRun(s, b, input(s.event, s.in.Input))
	}
	return resume(ctx, s, b)
}

// adopt takes over data of the previous segment of the run that the event of this job doesn't
// contain: the issue, pull request or head that the run is about. It also keeps a checkout
// untrusted: an untrusted checkout is restored with the run, whatever event continues it, and a
// workflow that may ask strangers makes the checkout untrusted, too.
func adopt(s *step, p *prepared, l lookup) error {
	subject, isUntrusted := lastPart(l)
	head := s.event.Head
	if !s.event.IsAboutHead() {
		head = cmp.Or(subject.Head, head)
	}
	if s.event.Number == 0 {
		s.event.Subject = subject
	}
	s.event.Head = head
	if s.in.TrustCheckout == nil && (isUntrusted || asksStrangers(p.flow.Workflow)) {
		p.isTrusted = false
	}
	return s.note.change(func(d *noteData) { d.Subject, d.Untrusted = s.event.Subject, !p.isTrusted })
}

// lastPart returns the subject of the previous segment of a run, and whether that segment worked on
// an untrusted checkout.
func lastPart(l lookup) (job.Subject, bool) {
	m := l.manifest
	if m == nil {
		return job.Subject{}, false
	}
	return job.Subject{Kind: m.Kind, Number: m.Number, Title: m.Title, Head: m.Head}, m.Untrusted
}

// baseOf returns the commit that the job checked out. The remote has this commit, whatever was
// committed on top of it. It returns "" outside of a repository.
func baseOf(ctx context.Context, s *step) string {
	if s.in.Workspace != job.WorkspaceGit {
		return ""
	}
	return s.git.Base(ctx, s.dirs.work, s.env.Getenv("GITHUB_SHA"))
}

// lookAtCheckout records the state of the checkout before agents' work is restored into it. It is
// needed if a script gets the agents' work.
func lookAtCheckout(ctx context.Context, s *step, b *readyRun) (err error) {
	jobs := s.options.Jobs
	if s.in.IsLocal() { // another job may continue the run on this machine
		jobs = nil
	}
	if !b.flow.HasHandOver(jobs) {
		return nil
	}
	if b.isResumed() && !b.isStored() { // agents have already worked on this machine
		b.checkout, _ = session.LoadCheckout(s.dirs.run(b.was.WorkflowID))
		return nil
	}
	b.checkout, err = session.InspectCheckout(ctx, s.git, s.dirs.work, s.env.Getenv("GITHUB_SHA"))
	return problem.OfMachine("the checkout", err)
}

// limit applies the step's budgets to the run, and refuses options that the step may not use.
func limit(ctx context.Context, s *step, b *readyRun) error {
	if err := openBook(ctx, s, b); err != nil {
		return err
	}
	var err error
	if b.options().SkipPermissions && isRoot() && !s.in.Sandboxed {
		err = &problem.Problem{Class: problem.ClassDenied, Where: "input dangerously-skip-permissions",
			What: "the agent CLI refuses this option to root outside of a sandbox",
			Hint: "run the job as another user, or set sandboxed: true in a container without anything of value"}
	}
	if s.in.NoPrompts {
		err = errors.Join(err, checkNoPrompts(s.options.Jobs, b))
	} else {
		err = errors.Join(err, session.CheckPrices(s.options, b.flow.Workflow, *b.options()))
	}
	isWanted := err == nil && s.part() == nil && s.in.Report != nil && *s.in.Report
	if isWanted && isPublic(s.event, s.in, s.api) { // before there is anything to read
		s.log.warn("report: true: anyone can read the artifacts of this repository, which is public or not known to be private, and the report contains " +
			"the conversations of the agents and their changes")
	}
	return errors.Join(err, s.note.change(func(d *noteData) { d.Prompts = b.flow.LeadsToPrompt() }))
}

// localFile is the name of the file of a local run that corresponds to the manifest of a
// checkpoint: it contains the run's key, how the run began, and what later segments need to know.
const localFile = "key.json"

// noteLocal writes localFile for a run that stays on this machine, and saves the state of its
// checkout.
func noteLocal(s *step, b *readyRun) error {
	if s.in.Workspace == job.WorkspaceGit && s.git.Path == noGit && expectsPrompts(b.flow, b.run) {
		s.log.warn(losesFiles)
	}
	dir := s.dirs.run(b.run.WorkflowID)
	err := checkpoints.WriteNote(filepath.Join(dir, localFile), checkpoint.Manifest{
		Key: s.key, Kind: s.event.Kind, Number: s.event.Number, Title: s.event.Title, Head: s.event.Head, Untrusted: s.note.get().Untrusted,
		KeyOrigin: b.began.KeyOf, Checkout: b.began.Checkout, Input: b.began.Input, Supersedes: b.began.Supersedes,
	})
	if _, isKept := session.LoadCheckout(dir); err == nil && !isKept && b.checkout.Base != "" {
		err = b.checkout.Save(dir)
	}
	return errors.Join(err, s.note.change(func(d *noteData) { d.Local = true }))
}

// beginRun creates a run from the options of the step.
func beginRun(s *step, b *readyRun, input string) error {
	o := s.options
	o.WorkflowID, o.Input = newID(s.key), input
	run, warnings, err := session.NewRun(o, b.flow.Scope, s.dirs.work)
	if err != nil {
		return err
	}
	if err := session.CheckAgentCommand(&run.Options, b.flow.Scope, o.Jobs); err != nil {
		return err
	}
	tellWarnings(s.env.Stderr, warnings)
	return keep(s, b, run)
}

// tellWarnings prints the warnings about a new run.
func tellWarnings(to io.Writer, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(to, "raymond: warning: "+text.Escape(problem.CutMiddle(w)))
	}
}

// newID returns an id for a new run.
func newID(key string) string { return job.WorkflowID(key, uuid.NewString()[:8]) }

// keep makes run the step's run, and creates its state file.
func keep(s *step, b *readyRun, run *state.Run) (err error) {
	b.run = run
	if err := noteRun(s, run); err != nil {
		return err
	}
	if b.file, err = journal.Create(s.dirs.state, run.WorkflowID, session.Holder()); err == nil {
		b.file.SetIntegrityLog(s.note.seals)
	}
	return err
}

// noteRun records which run the step drives.
func noteRun(s *step, run *state.Run) error {
	if isBuiltin(s.in.Workflow) {
		for _, dir := range []string{s.dirs.run(run.WorkflowID), s.dirs.own} { // the directories of copies of the workflow
			s.log.rename(filepath.Join(dir, "scope"), s.in.Workflow)
		}
	}
	if path := s.env.Getenv("GITHUB_EVENT_PATH"); path != "" {
		// Agents can write to this file, and the post phase reads it again.
		if err := s.note.seals.Adopt(path); err != nil {
			return problem.OfMachine("GITHUB_EVENT_PATH", err)
		}
	}
	return s.note.change(func(d *noteData) { d.Key, d.WorkflowID, d.Mark = s.key, run.WorkflowID, run.Mark })
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// beginFollowUp creates a run that continues a branch of the conversation of a completed run. It
// restores the work and the conversation of that run first.
func beginFollowUp(ctx context.Context, s *step, b *readyRun) error {
	w, before := b.flow.Workflow, b.was
	first, _ := w.State(w.Entry())
	next, _ := w.State(first.OnComment)
	if b.isStored() {
		b.began.KeyOf = cmp.Or(b.manifest.KeyOrigin, b.began.KeyOf)
		joined, err := joinParts(ctx, s, b) // a completed run has no parts; this moves the run to this machine
		if err != nil {
			return err
		}
		if before, err = bringBack(ctx, s, b, joined); err != nil {
			return err
		}
	} else if err := bringLocalWork(ctx, s, b, before); err != nil {
		return err
	}
	if err := beginRun(s, b, ask.CommentPayload(s.event.Comment, s.in.AnswerPrefix, next.Kind == protocol.Prompt)); err != nil {
		return err
	}
	if !b.isStored() {
		if err := bringLocal(s, before.WorkflowID, before); err != nil {
			return err
		}
	}
	var last state.LastConversation
	if before.Last != nil { // otherwise the end of its conversation was not recorded
		last = *before.Last
	}
	b.run.FollowUp(next.Name, s.event.Comment.Author.Login, last)
	s.log.say("run " + b.run.WorkflowID + " follows up on run " + before.WorkflowID + ", which is completed, in a branch of its conversation")
	return nil
}
