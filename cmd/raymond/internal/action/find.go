package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// lookup is the result of a search for a run: the run that was found and the decision about it.
type lookup struct {
	found    *slots.Found         // the stored checkpoint; nil with store: local
	was      *state.Run           // the run that was found; nil if no run was found or it is not used
	manifest *checkpoint.Manifest // of its checkpoint, or the equivalent of a local run; nil for none
	how      course               // the decision about the run
	why      string               // changes since the run was stored, for users; "" for no change
	claim    *checkpoints.Claim   // of the key; nil if the key is not claimed yet
	// supersedes is the run of another head that the new run replaces; zero for none.
	supersedes checkpoint.SupersededRun
}

// course is the decision of a step about the run that it has found.
type course int

const (
	begins  course = iota // create an independent run
	resumes               // resume the run
	shows                 // show the results of the run, which is completed
	follows               // create a run that continues the conversation of the completed run
	reruns                // create a run that begins from a state execution of the run
)

// isStored reports whether the run was found in a checkpoint.
func (l lookup) isStored() bool { return l.found != nil && l.was != nil }

// isBlind reports whether later workflow runs can't look for the run.
func (l lookup) isBlind() bool { return l.found != nil && l.found.NoAccess }

// isResumed reports whether the step continues or shows the run that was found, and creates no new
// run.
func (l lookup) isResumed() bool { return l.how == resumes || l.how == shows }

// find looks for the run of the step and decides how to continue. It ends the step if there is
// nothing to do.
func find(ctx context.Context, s *step, p prepared) (l lookup, err error) {
	if err := errors.Join(os.MkdirAll(s.dirs.state, 0o700), s.env.Process.endEarlier(s.dirs, s.key)); err != nil {
		return l, err
	}
	if p.heard != nil {
		l, err = p.heard.taken(ctx, s, p.flow)
	} else {
		l, err = findOwn(ctx, s, p.flow)
	}
	if err != nil {
		return l, err
	}
	return l, checkDue(ctx, s, p.flow, l)
}

// look looks for the newest run of a key, or for the run whose id is mode: in the state directory,
// or among the artifacts. It restores nothing.
func look(ctx context.Context, s *step, key, mode string) (l lookup, err error) {
	if s.in.IsLocal() {
		return lookLocal(s.dirs.state, key, mode)
	}
	l.found = &slots.Found{}
	if s.stored.err != nil || mode == job.ResumeNever {
		return l, s.stored.err
	}
	q := s.query()
	q.Key, q.Mode = key, mode
	found, err := s.stored.finder.Find(ctx, q)
	if err != nil {
		return l, err
	}
	if l.found, l.manifest = found, found.Manifest; l.manifest != nil {
		l.was, err = readState(found)
	}
	return l, err
}

// findOwn looks for the run of the step's own key. The manifest of its checkpoint decides whether
// the run is resumed.
func findOwn(ctx context.Context, s *step, f *flow) (l lookup, err error) {
	if l, err = look(ctx, s, s.key, s.in.Resume); err != nil {
		return l, err
	}
	facts := factsOf(s, l, f)
	if len(s.in.Part) == 0 {
		addHead(ctx, s, l, &facts)
	}
	if l.found != nil {
		facts.Follows = s.follows
		if m := l.manifest; m != nil && toldKey(s.event, s.in) != "" && !mayTake(s.event, s.in, m) {
			return l, s.log.skip(notTaken(s.log, m))
		}
	}
	switch {
	case len(s.in.Part) > 0 && l.was != nil:
		return findPart(ctx, s, l, facts)
	case s.in.Rerun != "":
		return l, l.take(s.log, slots.DecideRerun(l.manifest, facts), reruns)
	}
	return l, l.take(s.log, slots.Decide(l.manifest, facts), resumes)
}

// factsOf returns the facts that decide whether a run is resumed. If f, the workflow, is not nil,
// they include the limits of this step's inputs and the workflow files that have changed since the
// run began.
func factsOf(s *step, l lookup, f *flow) slots.Facts {
	facts := slots.Facts{
		Mode: s.in.Resume, Attempt: s.event.Attempt, Number: s.event.Number, Now: time.Now(),
		ChangedWorkflow: s.in.ChangedWorkflow, ResumeWithoutTranscript: s.in.ResumeWithoutTranscript,
	}
	if l.found != nil {
		facts.Found = *l.found
		facts.RunURL = cmp.Or(l.found.RunURL, s.event.RunURL(l.found.RunID))
	} else {
		facts.RunStatus = "completed" // a process that drives a local run holds its lock
	}
	if f != nil && l.was != nil {
		now := s.options.ForNewRun()
		facts.Budget, facts.MaxIterations = now.BudgetUSD, now.MaxIterations
		facts.Changed = session.ChangedFiles(l.was, f.Scope)
	}
	return facts
}

// addHead adds the heads of the event and of the run, which decide whether the run is resumed.
func addHead(ctx context.Context, s *step, l lookup, facts *slots.Facts) {
	if !s.event.IsAboutHead() {
		return
	}
	facts.Head = s.event.Head
	if s.event.Number != 0 && s.in.GitHubToken != "" {
		var err error
		if facts.Current, err = s.api.CurrentHead(ctx, s.event.Number); err != nil {
			s.log.print(s.log.shown("the step continues, although it could not check that this event is about the current head of the pull request (permission pull-requests: read): " + err.Error()))
		}
	}
	if l.was == nil {
		return
	}
	facts.AsksPeople = len(l.was.OpenQuestions()) > 0
	if l.found != nil {
		facts.Commits = workspace.Commits(filepath.Join(l.found.Dir, "workspace"))
		return
	}
	dir := s.dirs.run(l.was.WorkflowID)
	facts.Commits = workspace.Commits(filepath.Join(dir, filepath.Base(checkpoints.ReadLocal(dir).Folder)))
	if by, err := journal.FindDriver(s.dirs.state, l.was.WorkflowID); by != nil || err != nil {
		facts.RunStatus = "running"
	}
}

// take applies the decision d. The course is how, unless d requires another one.
func (l *lookup) take(log *jobLog, d slots.Decision, how course) error {
	if l.found != nil {
		for _, n := range l.found.Notices {
			log.notice(n)
		}
	}
	switch d.Action {
	case slots.Refuse:
		return &problem.Problem{Class: problem.Class(d.Class), Where: "input resume", What: d.Why, Hint: d.Hint}
	case slots.Skip:
		log.differs = append(log.differs, sentence(d.Why))
		return log.skip(d.Why)
	case slots.NewRun:
		if d.Supersedes {
			l.supersedes = checkpoint.SupersededRun{WorkflowID: l.manifest.WorkflowID, Head: l.manifest.Head}
			log.differs = append(log.differs, fmt.Sprintf("This run supersedes run `%s`, which is about another head (`%s`). Only `resume: %[1]s` resumes the old run.",
				l.manifest.WorkflowID, slots.Short(l.manifest.Head)))
		}
		isNews := l.was == nil || l.was.Progress.Status != state.Completed // a new run after a completed one is the usual case
		if l.was, l.manifest, how = nil, nil, begins; d.Why == "" {
			break
		}
		log.note("A new run was started: " + d.Why + ".")
		if d.Warn {
			log.warn("a new run starts: " + d.Why)
		} else if isNews {
			log.notice("a new run starts: " + d.Why)
		}
	case slots.Restore:
		if l.isStored() { // a local run is opened, and then has nothing to do
			how = shows
		}
	}
	l.how, l.why = how, d.Why
	return nil
}

// checkDue ends the step with one line in the log if it has nothing to do: the run that it was to
// continue does not exist, or nothing in the run is due. In this case, the step has not stored,
// shown or spent anything.
func checkDue(ctx context.Context, s *step, f *flow, l lookup) error {
	switch {
	case !l.isResumed() && toldKey(s.event, s.in) != "":
		return s.log.skip("nothing is started: this job has no run of the key that this dispatch names")
	case l.how != resumes || l.was.WorkflowID == s.in.Resume: // a run that the input names by its id is always tried
		return nil
	}
	if hasParts(ctx, s, l) || isDue(ctx, s, f, l) {
		return nil
	}
	return notDue(s.log, l.was)
}

// isDue reports whether there is anything to do for a run. If this can't be determined, it reports
// true, and driving the run reports the cause.
func isDue(ctx context.Context, s *step, f *flow, l lookup) bool {
	here := state.Here{Jobs: s.options.Jobs, JobOf: f.Workflow.JobOf}
	return l.was.HasWork(time.Now(), here, s.options.Hold) || hasAnswers(ctx, s, f, l)
}

// notDue logs in one line that nothing in the run is due.
func notDue(log *jobLog, run *state.Run) error {
	text := "nothing to do yet: run " + run.WorkflowID + " is suspended (" + run.Progress.Reason + ")"
	if until := run.Progress.Until; !until.IsZero() {
		text += " until " + report.FormatMinute(until)
	}
	log.notice(text)
	return errNotDue
}

// maxState is the size in bytes of the largest state file that is read from a checkpoint.
const maxState = 64 << 20

// readState reads the run from a checkpoint that has been verified.
func readState(found *slots.Found) (*state.Run, error) {
	path := filepath.Join(found.Dir, "state.json")
	data, _, err := files.Read(path, maxState)
	if err != nil {
		return nil, &problem.Problem{Class: problem.ClassBadState, Where: found.Artifact.Name, What: "has no state.json"}
	}
	run, err := state.Decode(data)
	if err == nil && run.WorkflowID != found.Manifest.WorkflowID {
		err = &state.FileError{Field: "workflow_id", What: "does not match the manifest"}
	}
	return run, inArtifact(found.Artifact.Name, "state.json", err)
}

// inArtifact sets the path of a *state.FileError to the names of the artifact and of the file in
// it, because users don't know the directory where it was unpacked.
func inArtifact(artifact, file string, err error) error {
	if bad, ok := errors.AsType[*state.FileError](err); ok {
		bad.Path = artifact + ": " + file
	}
	return err
}

// lookLocal looks in a state directory for the newest run of a key, or for the run whose id is
// mode.
func lookLocal(dir, key, mode string) (l lookup, err error) {
	if mode == job.ResumeNever {
		return l, nil
	}
	ids, err := journal.List(dir)
	if err != nil {
		return l, err
	}
	isNamed := mode != job.ResumeAuto && mode != job.ResumeRequire
	for _, id := range ids {
		var m checkpoint.Manifest
		if checkpoints.ReadNote(filepath.Join(dir, id, localFile), &m) != nil {
			m = checkpoint.Manifest{}
		}
		// Different keys can have the same id, because ids replace some characters and are cut.
		isOfKey := len(id) >= 8 && id == job.WorkflowID(key, id[len(id)-8:]) && (m.Key == "" || m.Key == key)
		if isNamed && id != mode || !isNamed && !isOfKey {
			continue
		}
		run, err := journal.Read(dir, id)
		if err != nil {
			return l, err
		}
		if l.was == nil || run.Created.After(l.was.Created) {
			l.was, l.manifest = run, &m
		}
	}
	if l.was != nil {
		m, p := l.manifest, &l.was.Progress
		m.WorkflowID, m.Status, m.Reason, m.Seq = l.was.WorkflowID, p.Status, p.Reason, p.Seq
		m.Omissions = checkpoints.ReadLocal(filepath.Join(dir, m.WorkflowID)).LeftOut
		m.TotalUSD, m.Estimated, m.Iterations = p.TotalUSD, l.was.Spent().Estimated, l.was.OwnExecutions()
	}
	return l, nil
}
