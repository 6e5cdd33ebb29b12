package slots

import (
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Action is the way in which a step treats a run that was found.
type Action int

// The actions.
const (
	NewRun Action = iota
	Resume
	// Restore restores the outputs and the work of a completed run, because a later step of the job
	// had failed, or another workflow run has continued the run. No state starts.
	Restore
	Refuse
	// Skip ends the step without an error. No state starts.
	Skip
)

// The classes of a refusal, as documented for the command line.
const (
	ClassUsage     = "usage"
	ClassConflict  = "conflict"
	ClassOverLimit = "over_limit"
	ClassDenied    = "denied"
)

// The values of the input changed-workflow, for a run whose workflow has changed.
const (
	ChangedTake   = "take" // the run continues with the current states
	ChangedNew    = "new"  // a new run starts
	ChangedRefuse = "refuse"
)

// Facts are the inputs of Decide besides the manifest.
type Facts struct {
	Found          // how the run was found; its manifest is not used
	Mode    string // as in Query
	Attempt int    // of the present workflow run; 0 if unknown
	Number  int    // issue or pull request of the present event; 0 for none
	// Head is the head that the present event is about; "" for events without a head, for example
	// comments. Current is the head of its pull request according to the API; "" if unknown.
	Head, Current string
	Commits       []string // commits that the run has created
	AsksPeople    bool     // the run waits for an answer to a question
	Now           time.Time

	Follows Named // the run must continue from this checkpoint or a later one; zero for any

	Budget        state.USD // of the present job; 0 for none
	MaxIterations int       // of the present job; 0 for none

	Changed         []string // workflow files that have changed since the run began
	ChangedWorkflow string   // a Changed constant
	// ResumeWithoutTranscript is the input of that name.
	ResumeWithoutTranscript bool
}

// Decision is the decision about a run that was found. Class and Hint are set for Refuse. Why is
// the reason, for users, why the run is not resumed, or a change if it is resumed; "" for a plain
// resume.
type Decision struct {
	Action Action
	Class  string
	Why    string
	Hint   string
	// Supersedes is set if the new run replaces the run that was found, which is about another
	// head.
	Supersedes bool
	// Warn is set if the run that is left behind contains work or conversations that the user may
	// miss.
	Warn bool
}

// completed is the API's status of a workflow run or job that has ended.
const completed = "completed"

// Decide decides whether to resume the run of a manifest, which is nil if no run was found. In mode
// Auto, a run that has ended is replaced by a new run, and so is, with a warning, a run whose
// checkpoint lacks contents; in other modes this is refused. A run that another job may be driving
// is refused in every mode, and so is a run that does not continue from the required checkpoint
// (Facts.Follows). Unless the mode is the run's id, the run's head counts, too (see byHead).
func Decide(m *checkpoint.Manifest, f Facts) Decision {
	if d, ok := f.byHead(m); ok {
		return d
	}
	if d, ok := f.unfit(m); ok {
		return d
	}
	d := f.byStatus(m)
	if d.Action == Resume {
		d = f.byLeftOut(m)
	}
	if d.Action == Resume && len(f.Changed) > 0 {
		d = f.byChange(m)
	}
	return d
}

// unfit decides if no run was found, or not the required one. Otherwise ok is false.
func (f Facts) unfit(m *checkpoint.Manifest) (d Decision, ok bool) {
	if why := f.checkFollows(m); why != "" {
		return Decision{Action: Refuse, Class: ClassConflict, Why: why, Hint: followsHint}, true
	}
	if m == nil {
		return f.nothingFound(), true
	}
	return Decision{}, false
}

// DecideRerun decides whether a new run may begin from a state execution of the run of a manifest,
// which is nil if no run was found. The result is Resume or Refuse. The run may have ended in any
// way, but no job may be driving it, and its checkpoint must be complete.
func DecideRerun(m *checkpoint.Manifest, f Facts) Decision {
	if d, ok := f.unfit(m); ok {
		return d
	}
	if m.Status == state.Running {
		if d := f.running(m); d.Action == Refuse {
			return d
		}
	}
	return f.byLeftOut(m)
}

// byChange decides about a run whose workflow has changed.
func (f Facts) byChange(m *checkpoint.Manifest) Decision {
	why := fmt.Sprintf("the workflow of run %s has changed since it began: %q", m.WorkflowID, f.Changed)
	switch f.ChangedWorkflow {
	case ChangedNew:
		return f.newOrRefuse(ClassConflict, why, "changed-workflow: take continues with the current states")
	case ChangedRefuse:
		return Decision{Action: Refuse, Class: ClassConflict, Why: why,
			Hint: "changed-workflow: take continues with the current states, changed-workflow: new starts a new run"}
	}
	return Decision{Action: Resume, Why: why + "; it continues with the current states (changed-workflow: take)"}
}

// isRerun reports whether the re-run button started this attempt of the workflow run and an earlier
// attempt drove the run.
func (f Facts) isRerun(m *checkpoint.Manifest) bool {
	return f.Attempt > 1 && (f.OlderHere || f.InThisRun && m.RunAttempt < f.Attempt)
}

func (f Facts) nothingFound() Decision {
	switch f.Mode {
	case Auto, Never:
		return Decision{Action: NewRun}
	case Require:
		return Decision{Action: Refuse, Class: ClassUsage, Why: "no run of this key was found to resume", Hint: "resume: auto starts a new one"}
	}
	return Decision{Action: Refuse, Class: ClassUsage, Why: fmt.Sprintf("no checkpoint of run %q was found", f.Mode),
		Hint: "checkpoints are stored by key and expire after retention-days"}
}

// newOrRefuse returns a new run in mode Auto, and a refusal in other modes.
func (f Facts) newOrRefuse(class, why, hint string) Decision {
	if f.Mode == Auto {
		return Decision{Action: NewRun, Why: why}
	}
	return Decision{Action: Refuse, Class: class, Why: why, Hint: hint}
}

// byStatus decides by the status of the run.
func (f Facts) byStatus(m *checkpoint.Manifest) Decision {
	switch m.Status {
	case state.Suspended, state.Cancelled:
		return Decision{Action: Resume}
	case state.Running:
		return f.running(m)
	case state.Failed:
		return f.failed(m)
	case state.OverBudget, state.OverIterations:
		return f.overLimit(m)
	case state.Completed:
		by := fmt.Sprintf("attempt %d of this workflow run", max(1, m.RunAttempt))
		if f.OlderHere {
			by = runName(m.RunID, f.RunURL)
		}
		if f.OlderHere || f.isRerun(m) {
			return Decision{Action: Restore, Why: fmt.Sprintf("run %s was completed by %s: its outputs and its work are restored, and nothing starts", m.WorkflowID, by)}
		}
	}
	return f.newOrRefuse(ClassUsage, fmt.Sprintf("run %s is %s", m.WorkflowID, m.Status), "resume: auto starts a new one")
}

// maxSilence is how long a job that drives a run may store nothing: twice the time between checkpoints.
const maxSilence = 2 * time.Minute

// running decides about a run that was running when its checkpoint was stored. It resumes the run
// only if no job drives it anymore. If the API can't answer, a job counts as ended when it has
// stored nothing for maxSilence.
func (f Facts) running(m *checkpoint.Manifest) Decision {
	status := f.RunStatus
	if f.InThisRun {
		status = f.JobStatus
	}
	if status == completed || m.Ended {
		return Decision{Action: Resume}
	}
	age := f.Now.Sub(m.Created)
	if f.InThisRun && status == "" && age >= maxSilence {
		return Decision{Action: Resume}
	}
	how := "is " + status
	if status == "" {
		how = "may be in progress: this could not be checked (the job's token needs actions: read)"
	}
	if status == "" && f.InThisRun {
		how += fmt.Sprintf(", and it stored the run %s ago", age.Round(time.Second))
	}
	by := "a process of this machine"
	if m.Job != "" {
		by = fmt.Sprintf("job %q of %s", m.Job, runName(m.RunID, f.RunURL))
	}
	why := fmt.Sprintf("run %s may still be driven by %s, which %s", m.WorkflowID, by, how)
	return Decision{Action: Refuse, Class: ClassConflict, Why: why, Hint: "wait for it to end, or cancel it; a concurrency group prevents two jobs at the same time"}
}

// failed decides about a failed run. It resumes the run if the user names it, for an event of the
// same issue or pull request, and on a re-run.
func (f Facts) failed(m *checkpoint.Manifest) Decision {
	sameSubject := m.Number != 0 && m.Number == f.Number
	if f.Mode == m.WorkflowID || sameSubject || f.Attempt > 1 && (f.InThisRun || f.OlderHere) {
		return Decision{Action: Resume}
	}
	return f.newOrRefuse(ClassUsage, fmt.Sprintf("run %s has failed", m.WorkflowID), "resume: "+m.WorkflowID+" resumes it")
}

// overLimit decides about a run that has reached a limit. It resumes the run only with a larger
// limit. The re-run button can't provide one, and a user who presses it does not want a new run.
func (f Facts) overLimit(m *checkpoint.Manifest) Decision {
	var why, input string
	spent := state.Spent{USD: m.TotalUSD, Estimated: m.Estimated}
	if m.Status == state.OverBudget {
		if f.Budget == 0 || f.Budget > m.TotalUSD {
			return Decision{Action: Resume}
		}
		why, input = fmt.Sprintf("run %s has spent %s, and the budget is $%s", m.WorkflowID, spent.ExactString(), f.Budget), "budget"
	} else {
		if f.MaxIterations == 0 || f.MaxIterations > m.Iterations {
			return Decision{Action: Resume}
		}
		why, input = fmt.Sprintf("run %s has begun %s, and the limit is %d", m.WorkflowID, state.Count(m.Iterations, "state execution"), f.MaxIterations), "max-iterations"
	}
	hint := "a larger input " + input + " resumes it"
	if f.isRerun(m) {
		return Decision{Action: Refuse, Class: ClassOverLimit, Why: why, Hint: hint + "; a re-run has the inputs of the first attempt, so start a new workflow run with it"}
	}
	return f.newOrRefuse(ClassOverLimit, why, hint)
}

// byLeftOut rejects a run whose checkpoint lacks contents, because an agent that continues without
// its work is worse than a new run.
func (f Facts) byLeftOut(m *checkpoint.Manifest) Decision {
	held := m.Missing()
	if len(held) == 0 || f.ResumeWithoutTranscript {
		return Decision{Action: Resume}
	}
	why := fmt.Sprintf("the checkpoint of run %s was stored without its %s: %s", m.WorkflowID, strings.Join(held, " and "), strings.Join(m.OmissionReasons(), "; "))
	if f.Mode == Auto {
		return Decision{Action: NewRun, Why: why + "; resume-without-transcript: true resumes it without them", Warn: true}
	}
	return Decision{Action: Refuse, Class: ClassDenied, Why: why,
		Hint: "resume-without-transcript: true resumes it without them, resume: auto or never starts a new run"}
}
