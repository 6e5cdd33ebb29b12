package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// Storage tells where a later job can find a run.
type Storage int

// The values of Storage.
const (
	NotStored        Storage = iota
	StoredAsArtifact         // in an artifact
	StoredLater              // in an artifact that the post phase stores when the job ends
	StoredLocally            // in a directory on this machine
)

// Facts describe a run and its step. NextStepsFor uses them.
type Facts struct {
	Status     state.Status // state.Running also if the process that drove the run was interrupted
	WorkflowID string
	Key        string
	Branch     string        // only workflow runs on this branch can find the run; if empty, all workflow runs can
	Head       string        // the commit that the run is about, if any; an event about another commit supersedes the run
	Until      time.Time     // a suspended run can be resumed from this time on; zero means now
	Waits      []report.Wait // the agents that wait
	report.JobContext

	Spent                     state.Spent // the cost so far
	Budget                    state.USD   // 0 means no budget
	Iterations, MaxIterations int
	Cap                       Cap // the limit that was reached, if any

	Storage           Storage
	PostArtifact      string                // the artifact in which the post phase has stored the run, if it has
	StateDir          string                // the directory of a run with StoredLocally
	WhyNotStored      string                // why the run isn't stored, and how to have it stored
	LeftOut           []checkpoint.Omission // parts of the run that the last checkpoint doesn't contain
	WithoutTranscript bool                  // the input resume-without-transcript is true
	NeverResume       bool                  // the input resume is never
	NoActionsRead     bool                  // the job lacks the permission actions: read, so later workflow runs can't find the run
	Successor         string                // the later job of this workflow run that resumes the run, if any
	Cause             string                // the cause to fix first, if known, without a full stop
	Cure              report.Advice         // advice for a run that has failed
	RefusesChanges    bool                  // the input changed-workflow is not take
}

// Cap is a limit on the total cost of many runs.
type Cap struct {
	Which      string // name of the input that sets the limit; empty if no limit was reached
	Spent, Max state.USD
}

// NextSteps describes how a run that is not completed can continue.
type NextSteps struct {
	// Resumable reports whether the run can be resumed, later or elsewhere.
	Resumable bool
	// Text explains in full sentences how to resume the run. If that is impossible, it explains why,
	// and what would have made it possible. Pairs of backticks mark code. It is empty for a completed
	// run.
	Text string
}

// Plain returns the text without markup.
func (o NextSteps) Plain() string { return strings.ReplaceAll(o.Text, "`", "") }

// NextStepsFor describes how the run with these facts can continue.
func NextStepsFor(f Facts) NextSteps {
	if f.Status == state.Completed {
		return NextSteps{}
	}
	if why := f.whyNot(); why != "" {
		return NextSteps{Text: f.causeText() + why}
	}
	text := f.causeText() + f.howText()
	switch {
	case f.Storage == StoredLater:
		text += " It is stored by the post part when this job ends."
	case f.PostArtifact != "":
		text += " It is stored as `" + f.PostArtifact + "` by the post part."
	}
	return NextSteps{Resumable: true, Text: text}
}

// howText explains how to resume the run.
func (f *Facts) howText() string {
	switch {
	case f.Part != nil:
		text := "The step with " + f.keyText() + " and without `part` joins what this part of the run has done"
		if f.Status == state.Suspended || f.Status == state.Running {
			return text + "."
		}
		return text + ", and hands over again what is left to do; the re-run button runs the part once more."
	case f.Status == state.Failed:
		return f.failedText()
	case f.Status == state.OverBudget && f.Cap.Which != "":
		return fmt.Sprintf("Raise `%s` above `$%s`, or wait: only what was spent in the last 24 hours counts. %s", f.Cap.Which, max(f.Cap.Spent, f.Cap.Max), f.resumeText())
	case f.Status == state.OverBudget:
		least := f.Spent.ExactString()
		if f.Budget >= f.Spent.USD {
			least = "$" + f.Budget.String()
		}
		return fmt.Sprintf("Raise `budget` above `%s`, then %s", least, f.raisedText())
	case f.Status == state.OverIterations:
		return fmt.Sprintf("Raise `max-iterations` above `%d`, then %s", max(f.Iterations, f.MaxIterations), f.raisedText())
	case f.Status == state.Suspended && len(f.Waits) > 0:
		return f.waitsText()
	case f.Status == state.Running:
		return "If the job has ended, it was cut off. " + f.resumeText()
	}
	return f.resumeText()
}

// causeText returns a sentence about the cause to fix first. It returns "" if the cause is unknown.
func (f *Facts) causeText() string {
	text := f.Cause
	if text == "" && f.Status == state.Failed {
		text = f.Cure.FirstStep
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + ". "
}

// resumeText explains how the next step with the same key resumes the run.
func (f *Facts) resumeText() string {
	who, button, successor := "The next run", "", ""
	if f.hasButton() {
		button = ", or the re-run button"
		if f.NoActionsRead {
			who = "A later job of this workflow run"
		}
		if f.Successor != "" {
			successor = "The job `" + f.Successor + "` of this workflow run resumes it. If it does not: "
		}
	}
	if f.Status == state.Suspended && !f.Until.IsZero() {
		button = " from " + report.FormatMinute(f.Until) + " on" + button
	}
	return successor + who + " " + f.withText() + " resumes it" + button + "." + f.blocker()
}

// failedText explains how to continue a failed run.
func (f *Facts) failedText() string {
	id := "`resume: " + f.WorkflowID + "`"
	switch {
	case f.Cure.RerunFrom != "":
		return "Then run the workflow with `resume: " + f.WorkflowID + "@N`, where N is the number of `" + strings.ReplaceAll(f.Cure.RerunFrom, "`", "") + "` in the table of states."
	case f.Storage == StoredLocally && f.Number != 0 && f.Head == "":
		return "Fix the cause, then run the step again on this " + f.Kind + ", " + f.withText() + "."
	case !f.hasButton():
		return "Fix the cause, then run the step again " + f.withText() + " and " + id + "."
	case f.NoActionsRead:
		return "Fix the cause, then press the re-run button." + f.blocker()
	case f.Number != 0 && f.Head == "":
		return "Fix the cause, then press the re-run button, or have the next event on this " + f.Kind + " try it again." + f.filesText()
	}
	return "Fix the cause, then press the re-run button, or run the workflow with " + id + "." + f.filesText()
}

// filesText warns that the re-run button ignores changed files. It returns "" unless the failure may
// be caused by files of the repository.
func (f *Facts) filesText() string {
	if !f.Cure.NeedsFileChange {
		return ""
	}
	text := " The button uses the files of this commit; to use changed files, take the other way."
	if f.RefusesChanges {
		text += " It needs `changed-workflow: take`."
	}
	return text
}

// raisedText explains how to resume a run after the user has raised the limit that it reached.
func (f *Facts) raisedText() string {
	text := "run the workflow again " + f.withText() + "." + f.blocker()
	if f.Storage != StoredLocally {
		text += " The re-run button can't: it keeps the old limit."
	}
	return text
}

// hasButton reports whether GitHub's re-run button may resume the run.
func (f *Facts) hasButton() bool { return f.Storage != StoredLocally && !f.NeverResume }

// blocker explains what keeps later workflow runs from finding or resuming the run. It returns "" if
// nothing does.
func (f *Facts) blocker() string {
	asksPeople := slices.ContainsFunc(f.Waits, func(w report.Wait) bool { return w.For == state.ForAnswer })
	switch {
	case f.Head != "" && !asksPeople && !f.NeverResume && !f.NoActionsRead:
		return " An event of another head supersedes it."
	case f.Storage == StoredLocally:
		return ""
	case f.NeverResume:
		return " The step that resumes it needs `resume: auto`; with `resume: never`, as here, each one starts from the beginning."
	case f.NoActionsRead:
		return " Later workflow runs can't find it without `permissions: actions: read`."
	}
	return ""
}

// withText names the inputs with which a step finds the run.
func (f *Facts) withText() string {
	if f.Storage == StoredLocally {
		return "on this machine with `state-dir: " + f.StateDir + "` and " + f.keyText()
	}
	return "with " + f.keyText()
}

// keyText names the input key with its value, and the branch or head commit on which the run can be found.
func (f *Facts) keyText() string {
	text := "`key: " + f.Key + "`"
	if f.Branch != "" {
		text += " on the branch `" + f.Branch + "`"
	}
	if f.Head != "" {
		text += " for the head `" + slots.Short(f.Head) + "`"
	}
	return text
}

// whyNot explains why the run can't be resumed. It returns "" if it can.
func (f *Facts) whyNot() string {
	if f.Storage == NotStored {
		return "This run can't be resumed: " + f.WhyNotStored + "."
	}
	lacks := f.LeftOut
	if slices.ContainsFunc(lacks, func(l checkpoint.Omission) bool { return l.Why == checkpoint.FromFork }) {
		return "This run can't be resumed: it was started by the event of a fork, whose runs are never resumed. " +
			"A run of an event of this repository itself, such as a comment on the pull request, can be resumed."
	}
	if len(lacks) == 0 {
		return ""
	}
	if f.WithoutTranscript {
		if !slices.ContainsFunc(lacks, func(l checkpoint.Omission) bool { return l.What == "workspace" && l.Why == checkpoint.NoKey }) {
			return ""
		}
		return "This run can't be resumed as it was: " + leftOutText(lacks) + " Another run with `resume-without-transcript: true` starts from the checkout instead."
	}
	return "This run can't be resumed as it is: " + leftOutText(lacks) +
		" With `resume-without-transcript: true` a later run continues without them."
}

// reasonText explains why something was not stored, and how to have it stored next time.
var reasonText = map[string]string{
	checkpoint.NoKey:     "anyone can read the artifacts of a public repository. With a `state-key` (`raymond keygen` makes one) they are stored encrypted",
	checkpoint.TooLarge:  "it is over 256 MiB. Have git ignore large files, or set `workspace: none` if no work has to be kept",
	checkpoint.NoGit:     "git is not installed. Install it before the checkout, or set `workspace: none` if no work has to be kept",
	checkpoint.NotPacked: "packing failed. The log shows the error",

	checkpoint.DiskFull:   "the disk was full. Free some space on the disk of the machine",
	checkpoint.NoObjects:  "the clone is partial, and origin did not give the objects that it lacks. Let `github-token` read the repository, or check out without `filter`",
	checkpoint.TooSlow:    "packing took too long. Have git ignore large files, or end the run earlier with `deadline`",
	checkpoint.NoMemory:   "memory ran out. Have git ignore large files, or use a machine with more memory",
	checkpoint.NotAllowed: "files could not be read. Let the user of the step read them, or have git ignore them",
}

// leftOutText lists the parts of the run that a checkpoint doesn't contain, and explains the reason of
// the first omission.
func leftOutText(lacks []checkpoint.Omission) string {
	var what []string
	for _, l := range lacks {
		what = append(what, l.What)
	}
	slices.Sort(what)
	return "its " + strings.Join(what, " and ") + " could not be stored, because " + reasonText[lacks[0].Why] + "."
}
