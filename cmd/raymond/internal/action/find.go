package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// decision is how a step continues after it has looked for the run.
type decision struct {
	lookup *store.Lookup // with a nil Run if the run that was found is not used
	course course
	why    string // changes since the run was stored, for users; "" for no change
	// supersedes is the run of another head that the new run replaces; zero for none.
	supersedes checkpoint.SupersededRun
	part       *state.Part   // the part of a matrix that the step runs; nil for the run itself
	parts      []*store.Part // what jobs of a matrix have stored for the run
	lease      store.Lease   // of the run's key; nil if the key is not claimed yet
	isAnswer   bool          // a comment has started the step
}

// course is what a step does with the run that it has found.
type course int

const (
	begins  course = iota // create an independent run
	resumes               // resume the run
	shows                 // show the results of the run, which is completed
	follows               // create a run that continues the conversation of the completed run
	reruns                // create a run that begins from a state execution of the run
)

// isResumed reports whether the step continues or shows the run that was found, and creates no new
// run.
func (d decision) isResumed() bool { return d.course == resumes || d.course == shows }

// find looks for the run of the step and decides how to continue. It ends the step if there is
// nothing to do.
func find(ctx context.Context, j *Job, s *scratch, from store.Store, w *workflow, a *answerEvent) (d decision, err error) {
	if err := errors.Join(os.MkdirAll(s.state, 0o700), j.env.Process.endEarlier(s.dirs, j.key.Name)); err != nil {
		return d, err
	}
	if a != nil {
		d, err = a.decide(ctx, s.note, w)
	} else {
		d, err = findOwn(ctx, j, s, from, w)
	}
	if err != nil {
		return d, err
	}
	switch {
	case !d.isResumed() && dispatchedKey(j.event, j.in) != "":
		return d, s.log.skip("nothing is started: this job has no run of the key that this dispatch names")
	case d.course != resumes: // nothing to join
		return d, nil
	case d.part == nil && len(d.lookup.Run.Parts) > 0:
		d.parts, err = from.Parts(ctx, d.lookup, d.lookup.Run.Parts)
	}
	isStored := slices.ContainsFunc(d.parts, func(p *store.Part) bool { return p.IsStored })
	if isNamed := d.lookup.Run.WorkflowID == j.in.Resume; err != nil || isNamed || isStored || isDue(ctx, j, s.log, w, d.lookup) {
		return d, err // a run that the input names by its id is always tried
	}
	return d, notDue(s.log, d.lookup.Run)
}

// findOwn looks for the run of the step's own key. The manifest of its checkpoint decides whether
// the run is resumed.
func findOwn(ctx context.Context, j *Job, s *scratch, from store.Store, w *workflow) (decision, error) {
	l, err := from.Look(ctx, store.Query{Key: j.key.Name, Mode: j.in.Resume})
	if err != nil {
		return decision{lookup: l}, err
	}
	if m := l.Manifest; m != nil && dispatchedKey(j.event, j.in) != "" && !mayResume(j, m) {
		return decision{lookup: l}, s.log.skip(notResumable(s.log, m))
	}
	facts := factsOf(j, l, w)
	facts.Follows = j.follows
	switch {
	case !j.traits.drivesAll && l.Run != nil:
		return findPart(ctx, j, s, from, l, facts)
	case j.in.Rerun != "":
		addHead(ctx, j, s.log, l, &facts)
		return decide(s.log, l, slots.DecideRerun(l.Manifest, facts), reruns)
	case j.traits.drivesAll:
		addHead(ctx, j, s.log, l, &facts)
	}
	return decide(s.log, l, slots.Decide(l.Manifest, facts), resumes)
}

// factsOf returns the facts that decide whether a run is resumed. If w is not nil, they include the
// limits of this step's inputs and the workflow files that have changed since the run began.
func factsOf(j *Job, l *store.Lookup, w *workflow) slots.Facts {
	facts := slots.Facts{
		Found: l.Found, Mode: j.in.Resume, Attempt: j.event.Attempt, Number: j.event.Number, Now: time.Now(),
		ChangedWorkflow: j.in.ChangedWorkflow, ResumeWithoutTranscript: j.in.ResumeWithoutTranscript,
	}
	facts.RunURL = cmp.Or(l.RunURL, j.event.RunURL(l.RunID))
	if w != nil && l.Run != nil {
		now := j.options.ForNewRun()
		facts.Budget, facts.MaxIterations = now.BudgetUSD, now.MaxIterations
		facts.Changed = session.ChangedFiles(l.Run, w.Scope)
	}
	return facts
}

// addHead adds the heads of the event and of the run, which decide whether the run is resumed.
func addHead(ctx context.Context, j *Job, log *jobLog, l *store.Lookup, facts *slots.Facts) {
	if !j.event.IsAboutHead() {
		return
	}
	facts.Head = j.event.Head
	if j.event.Number != 0 && j.in.GitHubToken != "" {
		var err error
		if facts.Current, err = j.api.CurrentHead(ctx, j.event.Number); err != nil {
			log.print(log.shown("the step continues, although it could not check that this event is about the current head of the pull request (permission pull-requests: read): " + err.Error()))
		}
	}
	if l.Run == nil {
		return
	}
	facts.AsksPeople, facts.Commits = len(l.Run.OpenQuestions()) > 0, l.Commits()
	if l.IsDriven() {
		facts.RunStatus = "running"
	}
}

// decide applies a decision of package slots. The course is how, unless the decision requires another
// one.
func decide(log *jobLog, l *store.Lookup, by slots.Decision, how course) (decision, error) {
	d := decision{lookup: l, course: how, why: by.Why}
	for _, n := range l.Notices {
		log.Notice(n)
	}
	switch by.Action {
	case slots.Refuse:
		return d, &problem.Problem{Class: problem.Class(by.Class), Where: "input resume", What: by.Why, Hint: by.Hint}
	case slots.Skip:
		log.changes = append(log.changes, sentence(by.Why))
		return d, log.skip(by.Why)
	case slots.NewRun:
		if by.Supersedes {
			d.supersedes = checkpoint.SupersededRun{WorkflowID: l.Manifest.WorkflowID, Head: l.Manifest.Head}
			log.changes = append(log.changes, fmt.Sprintf("This run supersedes run `%s`, which is about another head (`%s`). Only `resume: %[1]s` resumes the old run.",
				l.Manifest.WorkflowID, slots.Short(l.Manifest.Head)))
		}
		isNews := l.Run == nil || l.Run.Progress.Status != state.Completed // a new run after a completed one is the usual case
		if l.Run, l.Manifest, d.course = nil, nil, begins; by.Why == "" {
			break
		}
		log.Note("A new run was started: " + by.Why + ".")
		if by.Warn {
			log.Warn("a new run starts: " + by.Why)
		} else if isNews {
			log.Notice("a new run starts: " + by.Why)
		}
	case slots.Restore:
		d.course = shows
	}
	return d, nil
}

// findPart finds where the part that the step runs begins: where its agents wait in the run itself,
// or where an earlier job of this part has left it.
func findPart(ctx context.Context, j *Job, s *scratch, from store.Store, l *store.Lookup, facts slots.Facts) (decision, error) {
	own := state.NewPart(l.Run.Agents, j.in.Part, j.options.Jobs)
	if len(own.Agents) == 0 {
		s.log.Notice(fmt.Sprintf("nothing to do: none of the agents %s still waits for the job %s", strings.Join(j.in.Part, ", "), strings.Join(j.options.Jobs, ", ")))
		return decision{lookup: l}, errDone
	}
	facts.Mode = l.Run.WorkflowID // a part continues however the run has ended
	d, err := decide(s.log, l, slots.Decide(l.Manifest, facts), resumes)
	if err != nil || l.Run == nil {
		return d, err
	}
	parts, err := from.Parts(ctx, l, []state.Part{own})
	if err == nil {
		err = errors.Join(parts[0].Read(ctx), s.note.change(func(d *noteData) { d.Part = &own }))
	}
	if err != nil {
		return d, err
	}
	d.part = &own
	if newest := parts[0].Newest(); newest == nil || len(newest.Manifest.Missing()) > 0 && !j.in.ResumeWithoutTranscript {
		parts[0].Remove()
		l.Run = own.NewRun(l.Run)
		return d, nil
	}
	earlier, err := parts[0].Resume()
	if err != nil {
		return d, err
	}
	l.Remove()
	if d.lookup = earlier; earlier.Run.Progress.Status == state.Completed {
		s.log.Notice("nothing to do: an earlier attempt has completed this part")
		return d, errDone
	}
	return d, nil
}

// isDue reports whether there is anything to do for a run. If this can't be determined, it reports
// true, and driving the run reports the cause.
func isDue(ctx context.Context, j *Job, log *jobLog, w *workflow, l *store.Lookup) bool {
	run := l.Run
	if run.HasWork(time.Now(), state.Here{Jobs: j.options.Jobs, JobOf: w.Workflow.JobOf}, j.options.Hold) {
		return true
	}
	if len(run.OpenQuestions()) == 0 || j.in.GitHubToken == "" {
		return false
	}
	m := report.NewLiveModel()
	err := m.AddAll(report.Events(l.EventLog()))
	o := askOptions(j, log, w, l.Manifest, run)
	o.Questions = m.Questions()
	return err != nil || ask.HasPendingWork(ctx, o, run)
}

// notDue logs in one line that nothing in the run is due.
func notDue(log *jobLog, run *state.Run) error {
	text := "nothing to do yet: run " + run.WorkflowID + " is suspended (" + run.Progress.Reason + ")"
	if until := run.Progress.Until; !until.IsZero() {
		text += " until " + report.FormatMinute(until)
	}
	log.Notice(text)
	return errNotDue
}

// joinParts merges the results of the jobs of a matrix into the run that was found, however these jobs
// ended. If another job may still be running a part and no other agent is due, the run stays
// unchanged, because the step that joins that part must find it so.
func joinParts(ctx context.Context, j *Job, log *jobLog, w *workflow, d decision) error {
	l := d.lookup
	if err := l.Relocate(); err != nil || len(d.parts) == 0 {
		return err
	}
	all := state.PartJoin{Base: l.Run, JobOf: w.Workflow.JobOf, Now: time.Now()}
	for _, p := range d.parts {
		if err := p.Read(ctx); err != nil {
			return err
		}
		if err := p.Load(log); err != nil {
			return err
		}
		all.Parts = append(all.Parts, p.PartRun)
	}
	out, err := all.Join()
	if _, ok := errors.AsType[*state.PartConflict](err); ok {
		return &problem.Problem{Class: problem.ClassConflict, Where: "parts of the run", What: err.Error(),
			Hint: "delete the artifacts of one of them, or start a new run with resume: never"}
	}
	if err == nil {
		err = l.Merge(out.Run, out.Events, d.parts, out.Merged)
	}
	if err != nil {
		return err
	}
	isRunning := slices.ContainsFunc(d.parts, func(p *store.Part) bool { return p.Running })
	if isRunning && l.Run.WorkflowID != j.in.Resume && !isDue(ctx, j, log, w, l) {
		return notDue(log, l.Run)
	}
	return nil
}

// reportJoin logs which parts were joined, and for which parts the end is not known.
func reportJoin(log *jobLog, parts []*store.Part, jobs []string) {
	joined, missing, running := 0, 0, 0
	var lost []string
	for _, p := range parts {
		switch newest := p.Newest(); {
		case p.Running:
			running++
		case newest != nil:
			joined++
			if m := newest.Manifest; m.Status == state.Running && !m.Ended {
				lost = append(lost, fmt.Sprintf("%s (last checkpoint %s)", p.Part.Label(), m.Created.UTC().Format("15:04:05 UTC")))
			}
		case !p.Part.Earlier && !slices.Contains(jobs, p.Part.Job): // otherwise this step runs their agents
			missing++
		}
		for _, n := range p.Notices {
			log.Notice(n)
		}
	}
	if joined+missing+running == 0 {
		return
	}
	text := "joined " + state.Count(joined, "part") + " of the run"
	if missing > 0 {
		text += fmt.Sprintf("; %d stored nothing, so their agents start again where they were handed over", missing)
	}
	if running > 0 {
		text += fmt.Sprintf("; %d may still be running and were skipped", running)
	}
	if len(lost) > 0 {
		text += "; the work and spending of lost jobs after their last checkpoints is unknown: " + strings.Join(lost, ", ")
	}
	log.Say(text)
}
