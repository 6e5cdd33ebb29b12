package slots

import (
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Action is what is done with a run that was found.
type Action int

// The actions.
const (
	NewRun Action = iota
	Resume
	// Restore brings back the outputs and the work of a run that is completed, because
	// a later step of the job had failed, or another workflow run has continued it.
	// Nothing starts.
	Restore
	Refuse
	// Skip ends the step: nothing starts, and that is no error.
	Skip
)

// The classes of a refusal, as the command line documents them.
const (
	ClassUsage     = "usage"
	ClassConflict  = "conflict"
	ClassOverLimit = "over_limit"
	ClassDenied    = "denied"
)

// What is done with a run whose workflow has changed, as the input changed-workflow
// says.
const (
	ChangedTake   = "take" // it continues with the present states
	ChangedNew    = "new"  // a new run starts
	ChangedRefuse = "refuse"
)

// Facts are what Decide needs to know besides the manifest.
type Facts struct {
	Found          // how it was found; the manifest is not needed
	Mode    string // as in Query
	Attempt int    // of the present workflow run; 0 when unknown
	Number  int    // of the issue or pull request of the present event; 0 for none
	// Head is the head that the present event is about; "" for events that are about none, such
	// as comments. Current is the head of its pull request as the API has it; "" for not known.
	Head, Current string
	Commits       []string // commits that the run has created
	AsksPeople    bool     // the run waits for an answer
	Now           time.Time

	Follows Named // is to be resumed, or a later one; zero for any

	Budget        state.USD // of the present job; 0 for none
	MaxIterations int       // of the present job; 0 for none

	Changed         []string // workflow files that differ from those the run began with
	ChangedWorkflow string   // one of the Changed constants
	// ResumeWithoutTranscript is the input of that name.
	ResumeWithoutTranscript bool
}

// Decision is what is done with a run that was found. Class and Hint are set for
// Refuse; Why tells people what keeps the run from being resumed, or what is different
// when it is; "" where there is nothing to say.
type Decision struct {
	Action Action
	Class  string
	Why    string
	Hint   string
	// Supersedes says that the new run replaces the one that was found, which is about another head.
	Supersedes bool
	// Warn says that the run that is left behind has something that may be missed.
	Warn bool
}

// completed is the status of a workflow run, or of a job, that is no longer in
// progress.
const completed = "completed"

// Decide says whether the run of a manifest, nil for none, is resumed. In mode Auto a
// run that has ended gives way to a new one, and so does, with a warning, one whose
// checkpoint lacks what was left out of it; in the other modes that is refused. A run
// that another job may still drive is refused in every mode, and so is one that does not
// follow the checkpoint that the job was told of. Unless a run is named by its id, its head
// counts too: see byHead.
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

// unfit decides where there is no run, or not the one that the job was told of; ok is false where
// there is.
func (f Facts) unfit(m *checkpoint.Manifest) (d Decision, ok bool) {
	if why := f.checkFollows(m); why != "" {
		return Decision{Action: Refuse, Class: ClassConflict, Why: why, Hint: followsHint}, true
	}
	if m == nil {
		return f.nothingFound(), true
	}
	return Decision{}, false
}

// DecideRerun says whether a new run begins from a step of the run of a manifest, nil for none,
// with the states of now: Resume, or Refuse. How the run has ended is all the same, but nobody
// may drive it, and its checkpoint must lack nothing.
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

// byChange decides about a run whose workflow is not what it was.
func (f Facts) byChange(m *checkpoint.Manifest) Decision {
	why := fmt.Sprintf("the workflow of run %s has changed since it began: %q", m.WorkflowID, f.Changed)
	switch f.ChangedWorkflow {
	case ChangedNew:
		return f.newOrRefuse(ClassConflict, why, "changed-workflow: take continues with the states as they are now")
	case ChangedRefuse:
		return Decision{Action: Refuse, Class: ClassConflict, Why: why,
			Hint: "changed-workflow: take continues with the states as they are now, changed-workflow: new starts a new run"}
	}
	return Decision{Action: Resume, Why: why + "; it continues with the states as they are now (changed-workflow: take)"}
}

// isRerun reports whether an earlier attempt of the present workflow run drove the
// run: somebody has pressed the button.
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
		Hint: "checkpoints are stored by key, and expire after retention-days"}
}

// newOrRefuse is a new run in mode Auto, and a refusal in the others.
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

// usualInterval is how often a run is stored where its manifest does not say.
const usualInterval = time.Minute

// running resumes a run only when nobody drives it any more. Where that can't be
// asked, a job that has stored nothing for two of its intervals has ended.
func (f Facts) running(m *checkpoint.Manifest) Decision {
	status := f.RunStatus
	if f.InThisRun {
		status = f.JobStatus
	}
	if status == completed || m.Ended {
		return Decision{Action: Resume}
	}
	interval := time.Duration(m.IntervalMS) * time.Millisecond
	if interval <= 0 {
		interval = usualInterval
	}
	age := f.Now.Sub(m.Created)
	if f.InThisRun && status == "" && age >= 2*interval {
		return Decision{Action: Resume}
	}
	how := "is " + status
	if status == "" {
		how = "may be in progress: nobody can be asked (the job's token needs actions: read)"
	}
	if status == "" && f.InThisRun {
		how += fmt.Sprintf(", and it stored the run %s ago", age.Round(time.Second))
	}
	by := "a process of this machine"
	if m.Job != "" {
		by = fmt.Sprintf("job %q of %s", m.Job, runName(m.RunID, f.RunURL))
	}
	why := fmt.Sprintf("run %s may still be driven by %s, which %s", m.WorkflowID, by, how)
	return Decision{Action: Refuse, Class: ClassConflict, Why: why, Hint: "wait for it to end, or cancel it; a concurrency group keeps two apart"}
}

// failed resumes a run where somebody asks for that very one, for another try at the
// same issue or pull request, or by the re-run button.
func (f Facts) failed(m *checkpoint.Manifest) Decision {
	sameSubject := m.Number != 0 && m.Number == f.Number
	if f.Mode == m.WorkflowID || sameSubject || f.Attempt > 1 && (f.InThisRun || f.OlderHere) {
		return Decision{Action: Resume}
	}
	return f.newOrRefuse(ClassUsage, fmt.Sprintf("run %s has failed", m.WorkflowID), "resume: "+m.WorkflowID+" resumes it")
}

// overLimit resumes a run only with a larger limit. The re-run button can't give one,
// and whoever presses it does not want a new run.
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

// byLeftOut passes over a run that lacks what was not stored: an agent that comes
// back without its work is worse than none.
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
