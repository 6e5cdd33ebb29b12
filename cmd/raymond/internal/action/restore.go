package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// readyRun is a run that was created or restored on this machine and is ready to be driven.
type readyRun struct {
	decision
	workflow *workflow
	run      *state.Run
	file     *journal.File
	changed  *state.Options   // new options of the run; nil if they don't change
	hasWork  bool             // work of agents was restored into the workspace
	checkout session.Checkout // zero if no script gets the agents' work
}

// options returns the options with which the run continues.
func (r *readyRun) options() *state.Options {
	if r.changed != nil {
		return r.changed
	}
	return &r.run.Options
}

// restore creates a run, or brings the run that was found to this machine, and claims its key. It
// returns the job with the subject of the run. With an error, the run may be the one that was found.
func restore(ctx context.Context, j *Job, s *scratch, from store.Store, w *workflow, d decision) (*Job, *readyRun, error) {
	j = inheritContext(j, w, d)
	r := &readyRun{decision: d, workflow: w}
	err := s.note.change(func(n *noteData) { n.Subject, n.Untrusted = j.event.Subject, !j.isTrusted })
	defer func() {
		for _, p := range d.parts {
			p.Remove()
		}
	}()
	var to store.Target
	if err == nil {
		to, err = r.prepare(ctx, j, s)
	}
	if err == nil {
		err = r.open(ctx, j, s, from, to)
	}
	if err == nil {
		err = errors.Join(r.saveCheckout(s.dirs), s.note.change(func(n *noteData) { n.Restored, n.Prompts = true, w.LeadsToPrompt() }))
	}
	if err != nil && r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return j, r, err
}

// inheritContext returns the job with the part that it runs, and with the data of the previous segment
// of the run that the event of this job doesn't contain: the issue, pull request or head that the run
// is about. It also keeps a checkout untrusted: an untrusted checkout is restored with the run,
// whatever event continues it, and a workflow that may ask strangers makes the checkout untrusted, too.
func inheritContext(j *Job, w *workflow, d decision) *Job {
	next := *j
	next.key.Part = d.part
	m := cmp.Or(d.lookup.Manifest, &checkpoint.Manifest{})
	head := j.event.Head
	if !j.event.IsAboutHead() {
		head = cmp.Or(m.Head, head)
	}
	if j.event.Number == 0 {
		next.event.Subject = job.Subject{Kind: m.Kind, Number: m.Number, Title: m.Title}
	}
	next.event.Head = head
	if j.in.TrustCheckout == nil && (m.Untrusted || asksStrangers(w.Workflow)) {
		next.isTrusted = false
	}
	return &next
}

// prepare determines the run to drive and what is restored, and checks that this step may drive it. It
// changes nothing in the workspace.
func (r *readyRun) prepare(ctx context.Context, j *Job, s *scratch) (to store.Target, err error) {
	l, w := r.lookup, r.workflow
	if err := r.inspectCheckout(ctx, j, s); err != nil {
		return to, err
	}
	to = store.Target{
		Start: store.RunStart{KeyOrigin: keyOriginOf(j), Checkout: j.base, Input: digestOf(j.in.Input), Supersedes: r.supersedes},
		About: j.event.Subject, Untrusted: !j.isTrusted, Scope: w.Path, Dir: s.work,
		AgentsIn: func(dir string) map[string]runner.AgentCLI { return agentsIn(j, dir) },
		Freeze:   func() error { return w.Freeze(filepath.Join(s.own, "scope"), j.options.IsGiven("agent-command")) },
	}
	switch r.course {
	case begins:
		if len(j.in.InputFrom) > 0 && j.in.Input == "" {
			return to, problem.Usage("input input-from", "the payload of this "+j.event.Name+" event contains none of the fields "+strings.Join(j.in.InputFrom, ", "),
				"name fields of the payload, such as issue.body for issue events; the file GITHUB_EVENT_PATH contains the payload")
		}
		clean := job.CleanScriptInput
		if st, _ := w.Workflow.State(w.Workflow.Entry()); st.Kind == protocol.Prompt {
			clean = job.CleanPromptInput
		}
		err = r.newRun(j, s, clean(j.event, j.in.Input))
	case follows:
		next, _ := w.Workflow.State(w.nextOnComment())
		to.Start.KeyOrigin = cmp.Or(l.Manifest.KeyOrigin, to.Start.KeyOrigin)
		err = r.newRun(j, s, ask.CommentPayload(j.event.Comment, j.in.AnswerPrefix, next.Kind == protocol.Prompt))
	case reruns:
		err = r.newRerun(ctx, j, s)
		to.Contents, to.Needs = store.Conversations, r.run
	default:
		m := l.Manifest
		to.Start = store.RunStart{KeyOrigin: inheritedKeyOrigin(j, m.KeyOrigin), Checkout: m.Checkout, Input: m.Input, Supersedes: m.Supersedes}
		if err = joinParts(ctx, j, s.log, w, r.decision); err != nil {
			r.run = l.Run
			return to, err
		}
		r.run = l.Run
	}
	if err != nil {
		return to, err
	}
	if r.isResumed() {
		reportDifferences(s.log, j.in.Input, r.decision, j.base)
		reportJoin(s.log, r.parts, j.options.Jobs)
	} else {
		to.ID = r.run.WorkflowID
	}
	to.Agents, to.HasPrompts = agentsIn(j, cliDir(j, s.dirs, r.run.WorkflowID)), w.expectsPrompts(r.run)
	if err = recordRun(j, s, r.run); err != nil {
		return to, err
	}
	if r.course == shows {
		to.Contents = store.WithoutConversations
		return to, nil
	}
	if r.course == resumes {
		err = r.changeOptions(j, s.state)
	}
	if err == nil {
		err = r.limit(ctx, j, s)
	}
	return to, err
}

// open claims the key and restores the run.
func (r *readyRun) open(ctx context.Context, j *Job, s *scratch, from store.Store, to store.Target) (err error) {
	if r.course == shows {
		r.lease = from.View()
	} else if r.lease == nil {
		if r.lease, err = from.Claim(j.key); err != nil {
			return err
		}
	}
	if r.course != shows {
		losses := from.Limitations(to.HasPrompts)
		if w := r.lookup.Warning; w != "" {
			losses = append([]string{w}, losses...)
		}
		if len(losses) > 0 {
			s.log.Warn(strings.Join(losses, ". Besides, "))
		}
	}
	file, found, err := r.lease.Restore(ctx, r.lookup, to)
	if _, isLocked := errors.AsType[*journal.LockedError](err); isLocked && r.isAnswer {
		return s.log.end("nothing is started: another job drives the run and will read this comment")
	}
	if err != nil {
		return err
	}
	r.file, r.hasWork = file, r.lookup.HasWork()
	switch r.course {
	case follows:
		var last state.LastConversation
		if found.Last != nil { // otherwise the end of its conversation was not recorded
			last = *found.Last
		}
		r.run.FollowUp(r.workflow.nextOnComment(), j.event.Comment.Author.Login, last)
		s.log.Say("run " + r.run.WorkflowID + " follows up on run " + found.WorkflowID + ", which is completed, in a branch of its conversation")
	case reruns:
		return r.moveRerun(s, to.Agents)
	case resumes, shows:
		r.run = found
	}
	if r.course == resumes {
		applyMeta(s.log, j.options.Meta, r.run)
		if dispatchedKey(j.event, j.in) == "" { // the run was not continued by a dispatch
			r.run.Progress.Continuations = 0
		}
	}
	return nil
}

// inspectCheckout records the state of the checkout before agents' work is restored into it. It is
// needed if a script gets the agents' work. On this machine, agents have already worked.
func (r *readyRun) inspectCheckout(ctx context.Context, j *Job, s *scratch) (err error) {
	switch {
	case !r.workflow.HasHandOver(j.traits.handOverJobs):
		return nil
	case r.isResumed() && r.lookup.OnMachine:
		r.checkout, _ = session.LoadCheckout(s.run(r.lookup.Run.WorkflowID))
		return nil
	}
	r.checkout, err = session.InspectCheckout(ctx, s.git, s.work, j.env.Getenv("GITHUB_SHA"))
	return problem.OfMachine("the checkout", err)
}

// saveCheckout saves the state of the checkout for later segments of the run on this machine.
func (r *readyRun) saveCheckout(d dirs) error {
	dir := d.run(r.run.WorkflowID)
	if _, isSaved := session.LoadCheckout(dir); isSaved || r.checkout.Base == "" {
		return nil
	}
	return r.checkout.Save(dir)
}

// newRun creates a run from the options of the step.
func (r *readyRun) newRun(j *Job, s *scratch, input string) error {
	o := *j.options
	o.WorkflowID, o.Input = newID(j), input
	run, warnings, err := session.NewRun(&o, r.workflow.Scope, s.work)
	if err != nil {
		return err
	}
	printWarnings(j.env.Stderr, warnings)
	r.run = run
	return session.CheckAgentCommand(&run.Options, r.workflow.Scope, o.Jobs)
}

// printWarnings prints the warnings about a new run.
func printWarnings(to io.Writer, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(to, "raymond: warning: "+text.Escape(problem.CutMiddle(w)))
	}
}

// newID returns an id for a new run.
func newID(j *Job) string { return job.WorkflowID(j.key.Name, uuid.NewString()[:8]) }

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// recordRun records for the post phase which run the step drives, and what it has cost so far.
func recordRun(j *Job, s *scratch, run *state.Run) error {
	if isBuiltin(j.in.Workflow) {
		for _, dir := range []string{s.run(run.WorkflowID), s.own} { // the directories of copies of the workflow
			s.log.showAs(filepath.Join(dir, "scope"), j.in.Workflow)
		}
	}
	if path := j.env.Getenv("GITHUB_EVENT_PATH"); path != "" {
		// Agents can write to this file, and the post phase reads it again.
		if err := s.integrity.Adopt(path); err != nil {
			return problem.OfMachine("GITHUB_EVENT_PATH", err)
		}
	}
	return s.note.change(func(n *noteData) {
		n.Key, n.WorkflowID, n.Mark, n.FromUSD = j.key.Name, run.WorkflowID, run.Mark, run.Progress.TotalUSD
	})
}

// changeOptions gives a resumed run the options of the step.
func (r *readyRun) changeOptions(j *Job, stateDir string) error {
	now := j.options.ForNewRun() // never from the state file, which agents could have written
	path := filepath.Join(stateDir, r.run.WorkflowID+".json")
	err := errors.Join(session.CheckResume(&now, r.run, r.workflow.Scope, path), session.CheckAgentCommand(&now, r.workflow.Scope, j.options.Jobs))
	if job.InputValue(j.env.Getenv, "budget") == "" && (j.in.NoPrompts || !r.workflow.HasPromptsOf(j.options.Jobs)) {
		now.BudgetUSD = 0 // a job without prompts spends nothing, and its default budget must not replace the run's
	}
	if own, isPart := r.run.Parts.OwnPart(); isPart && r.part != nil {
		share := r.run.Options.BudgetUSD
		switch {
		case r.lookup.Manifest.Part == nil: // the part begins, and gets its share of the run's budget
			now.BudgetUSD = own.BudgetShare(now.BudgetUSD, r.run.Progress.TotalUSD, r.run.Agents)
		case now.BudgetUSD != 0 && share != 0: // the part keeps its share
			now.BudgetUSD = min(share, now.BudgetUSD)
		}
	}
	r.changed = &now
	return err
}

// limit applies the step's budgets to the run, and refuses options that the step may not use.
func (r *readyRun) limit(ctx context.Context, j *Job, s *scratch) error {
	if err := r.loadSpending(ctx, j, s.log); err != nil {
		return err
	}
	var err error
	if r.options().SkipPermissions && isRoot() && !j.in.Sandboxed {
		err = &problem.Problem{Class: problem.ClassDenied, Where: "input dangerously-skip-permissions",
			What: "the agent CLI refuses this option to root outside of a sandbox",
			Hint: "run the job as another user, or set sandboxed: true in a container without anything of value"}
	}
	if j.in.NoPrompts {
		err = errors.Join(err, checkNoPrompts(j.options.Jobs, r.workflow.Workflow, r.run))
	} else {
		err = errors.Join(err, session.CheckPrices(j.options, r.workflow.Workflow, *r.options()))
	}
	if isWanted := err == nil && j.in.Report != nil && *j.in.Report; isWanted && isPublic(j) { // before there is anything to read
		s.log.Warn("report: true: anyone can read the artifacts of this repository, which is public or not known to be private, and the report contains " +
			"the conversations of the agents and their changes")
	}
	return err
}

// reportDifferences reports the changes since the run was stored. base is the commit that the job
// checked out.
func reportDifferences(log *jobLog, input string, d decision, base string) {
	was, run := d.lookup.Manifest, d.lookup.Run
	if d.why != "" {
		log.Say(d.why)
	}
	if was.Checkout != "" && base != "" && was.Checkout != base {
		log.Say(fmt.Sprintf("run %s goes on at %s, on the work begun at %s", run.WorkflowID, slots.Short(base), slots.Short(was.Checkout)))
	}
	causes := strings.Join(was.OmissionReasons(), "; ")
	for _, what := range was.Missing() {
		switch {
		case d.course == shows && what != "workspace": // showing a run needs no conversations
		case what == "transcripts":
			var names []string
			for _, a := range run.Agents {
				if a.Session != nil {
					names = append(names, a.ID)
				}
			}
			if len(names) == 0 {
				names = []string{"agents"}
			}
			log.Say(fmt.Sprintf("the conversations of %s are missing and start anew: %s", strings.Join(names, ", "), causes))
		default:
			log.Say("the work in the workspace is missing, so agents see the checkout without it: " + causes)
		}
	}
	if input != "" && was.Input != digestOf(input) {
		text := "the input is ignored: run " + run.WorkflowID + " continues with its original input; resume: never starts a new run"
		log.changes = append(log.changes, sentence(text))
		log.Warn(text)
	}
}

// applyMeta sets the given template variables in a run. They apply from its next state on.
func applyMeta(log *jobLog, given map[string]string, run *state.Run) {
	meta := map[string]string{}
	maps.Copy(meta, run.Meta)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if was, ok := meta[name]; !ok || was != given[name] {
			changed = append(changed, name)
		}
		meta[name] = given[name]
	}
	if len(changed) > 0 {
		run.Meta = meta
		log.Say("meta has changed and applies from the next state on: " + strings.Join(changed, ", "))
	}
}

// newRerun creates a run that begins from a state execution of the run that was found, with the
// current states and options, and restores the files from the time before that. The old run stays
// unchanged.
func (r *readyRun) newRerun(ctx context.Context, j *Job, s *scratch) error {
	if err := r.lookup.Relocate(); err != nil {
		return err
	}
	dir, err := r.lookup.StateDir()
	if err != nil {
		return err
	}
	point, err := runs.FindPoint(dir, r.lookup.Run.WorkflowID, j.in.Rerun, "input resume")
	if err != nil {
		return err
	}
	o := *j.options
	o.WorkflowID = newID(j)
	run, warnings, err := session.NewRerun(&o, r.workflow.Scope, point)
	if err != nil {
		return err
	}
	run.Options = j.options.ForNewRun() // never from the history, which agents could have written
	printWarnings(j.env.Stderr, warnings)
	if err := session.CheckAgentCommand(&run.Options, r.workflow.Scope, o.Jobs); err != nil {
		return err
	}
	r.run = run
	if err := r.restoreSnapshots(ctx, j, s, point); err != nil {
		return err
	}
	s.log.Say(fmt.Sprintf("run %s begins from state execution %d (%s) of run %s", run.WorkflowID, point.Exec, point.State, r.lookup.Run.WorkflowID))
	if j.in.Input != "" {
		s.log.Say("the input is ignored: the run continues with the original input of run " + r.lookup.Run.WorkflowID)
	}
	return nil
}

// restoreSnapshots restores the workspace files from the time before a state execution started.
func (r *readyRun) restoreSnapshots(ctx context.Context, j *Job, s *scratch, point runs.Point) error {
	const unchanged = "the files are as checked out by the job: "
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tree := s.worktree(j)
	if tree == nil {
		s.log.Say(unchanged + "workspace: none")
		return nil
	}
	all, err := r.lookup.Snapshots(ctx, tree, point.Run)
	var list []workspace.Snapshot
	if err == nil {
		list, err = all.List(ctx)
	}
	list = workspace.SnapshotsBefore(list, point.Exec)
	switch {
	case err != nil:
		s.log.Say(unchanged + "the workspace snapshots of the run can't be read: " + err.Error())
		return nil
	case len(list) == 0:
		s.log.Say(unchanged + fmt.Sprintf("no workspace snapshot exists before state execution %d", point.Exec))
		return nil
	}
	if err := r.workflow.Freeze(filepath.Join(s.own, "scope"), j.options.IsGiven("agent-command")); err != nil {
		return err
	}
	for _, one := range list {
		notes, err := all.Restore(ctx, one)
		if errors.Is(err, workspace.ErrNoWorktree) { // an agent had created the worktree
			notes, err = all.Checkout(ctx, one, one.Dir)
		}
		if err := store.ReportRestored(s.log, nil, err); err != nil {
			return err
		}
		for _, note := range append(notes, runs.DescribeSnapshotAge(point, one)) {
			s.log.Say(note)
		}
	}
	return nil
}

// moveRerun gives a run that begins from a state execution its own copies of conversations on this
// machine, and adapts its directories to this machine.
func (r *readyRun) moveRerun(s *scratch, agents map[string]runner.AgentCLI) error {
	notes, err := runs.CopyConversations(r.run, agents, r.lookup.Where)
	if err != nil {
		return problem.OfMachine("conversations", err)
	}
	for _, note := range notes {
		s.log.Warn(note)
	}
	if r.run, err = r.run.Relocate(r.lookup.Where); err != nil {
		return err
	}
	r.run.Scope, r.run.Dir = r.workflow.Path, s.work
	for _, t := range checkpoint.Sessions(r.run) {
		if cli := agents[t.Backend]; cli != nil {
			s.conversations.AddPlaced(cli, runner.Conversation{ID: t.ID, CLI: t.CLIID, Dir: t.Dirs[0]})
		}
	}
	return store.MakeDirs(r.run)
}
