package keep

import (
	"fmt"
	"strings"

	"github.com/raymond-action/raymond-action/runner/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

// Action is what is done with a run that was found.
type Action int

// The actions.
const (
	NewRun Action = iota
	TakeUp
	Refuse
)

// The classes of a refusal, as the command line documents them.
const (
	ClassUsage     = "usage"
	ClassConflict  = "conflict"
	ClassOverLimit = "over_limit"
	ClassDenied    = "denied"
)

// Facts are what Judge needs to know besides the manifest.
type Facts struct {
	Mode      string // as in Query
	InThisRun bool   // as in Found
	RunURL    string // as in Found
	RunStatus string // as in Found
	Number    int    // of the issue or pull request of the present event; 0 for none

	Budget        state.USD // of the present job; 0 for none
	MaxIterations int       // of the present job; 0 for none

	Changed      []string // workflow files that differ from those the run began with
	AllowChanged bool     // input allow-changed-workflow
	// ResumeWithoutTranscript is the input of that name.
	ResumeWithoutTranscript bool
}

// Verdict is what Judge says. Class and Hint are set for Refuse; Why says in words
// for people what keeps the run from being taken up, "" for TakeUp and where none
// was found.
type Verdict struct {
	Action Action
	Class  string
	Why    string
	Hint   string
}

// completed is the status of a workflow run that is no longer in progress.
const completed = "completed"

// Judge says whether the run of a manifest, nil for none, is taken up. In mode
// Auto a run that is over, or whose workflow has changed, makes place for a new
// one; in the other modes that is refused. A run that may still be driven by
// another job, and one that lacks what was left out of its checkpoint, are refused
// in every mode.
func Judge(m *checkpoint.Manifest, f Facts) Verdict {
	if m == nil {
		return f.none()
	}
	if v := f.status(m); v.Action != TakeUp {
		return v
	}
	if len(f.Changed) > 0 && !f.AllowChanged {
		why := fmt.Sprintf("the workflow of run %s has changed since it began: %s", m.WorkflowID, quoted(f.Changed))
		return f.leave(ClassConflict, why, "allow-changed-workflow: true goes on all the same")
	}
	return f.leftOut(m)
}

func (f Facts) none() Verdict {
	switch f.Mode {
	case Auto:
		return Verdict{Action: NewRun}
	case Require:
		return Verdict{Refuse, ClassUsage, "no run of this key was found to take up", "resume: auto starts a new one"}
	}
	return Verdict{Refuse, ClassUsage, fmt.Sprintf("no checkpoint of run %q was found", f.Mode),
		"checkpoints expire after retention-days, and are kept by key"}
}

// leave is a new run in mode Auto, and a refusal in the others.
func (f Facts) leave(class, why, hint string) Verdict {
	if f.Mode == Auto {
		return Verdict{Action: NewRun, Why: why}
	}
	return Verdict{Refuse, class, why, hint}
}

// status judges by how the run stands.
func (f Facts) status(m *checkpoint.Manifest) Verdict {
	switch m.Status {
	case state.Suspended, state.Cancelled:
		return Verdict{Action: TakeUp}
	case state.Running:
		return f.running(m)
	case state.Failed:
		return f.failed(m)
	case state.OverBudget, state.OverIterations:
		return f.overLimit(m)
	}
	return f.leave(ClassUsage, fmt.Sprintf("run %s is %s", m.WorkflowID, m.Status), "resume: auto starts a new one")
}

// running takes a run up only when nobody drives it any more.
func (f Facts) running(m *checkpoint.Manifest) Verdict {
	if f.InThisRun || f.RunStatus == completed {
		return Verdict{Action: TakeUp}
	}
	how := f.RunStatus
	if how == "" {
		how = "of an unknown status"
	}
	why := fmt.Sprintf("run %s may still be driven by job %q of %s, which is %s", m.WorkflowID, m.Job, runName(m.RunID, f.RunURL), how)
	return Verdict{Refuse, ClassConflict, why, "wait for it to end, or cancel it; a concurrency group keeps two apart"}
}

// failed takes a run up where somebody asks for that very one, or for another try
// at the same issue or pull request.
func (f Facts) failed(m *checkpoint.Manifest) Verdict {
	if f.Mode == m.WorkflowID || m.Number != 0 && m.Number == f.Number {
		return Verdict{Action: TakeUp}
	}
	return f.leave(ClassUsage, fmt.Sprintf("run %s has failed", m.WorkflowID), "resume: "+m.WorkflowID+" tries it again")
}

// overLimit takes a run up only with a larger limit.
func (f Facts) overLimit(m *checkpoint.Manifest) Verdict {
	if m.Status == state.OverBudget {
		if f.Budget == 0 || f.Budget > m.TotalUSD {
			return Verdict{Action: TakeUp}
		}
		why := fmt.Sprintf("run %s has spent $%s, and the budget is $%s", m.WorkflowID, m.TotalUSD, f.Budget)
		return f.leave(ClassOverLimit, why, "a larger input budget goes on with it")
	}
	if f.MaxIterations == 0 || f.MaxIterations > m.Iterations {
		return Verdict{Action: TakeUp}
	}
	why := fmt.Sprintf("run %s has begun %d state executions, and the limit is %d", m.WorkflowID, m.Iterations, f.MaxIterations)
	return f.leave(ClassOverLimit, why, "a larger input max-iterations goes on with it")
}

// leftOut refuses to go on without what was not stored.
func (f Facts) leftOut(m *checkpoint.Manifest) Verdict {
	held := m.Lacks()
	if len(held) == 0 || f.ResumeWithoutTranscript {
		return Verdict{Action: TakeUp}
	}
	why := fmt.Sprintf("the checkpoint of run %s was stored without its %s, because no state-key was set", m.WorkflowID, strings.Join(held, " and "))
	return Verdict{Refuse, ClassDenied, why,
		"resume-without-transcript: true goes on without them; for runs to come set state-key, and run once with resume: never"}
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return strings.Join(out, ", ")
}
