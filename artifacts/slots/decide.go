package slots

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// byHead decides by the heads that the event and the run are about; ok is false if they don't
// matter. An event of another head supersedes an unfinished run, so that its commit is not ignored
// in favor of work on another head. A run that waits for a person stays, because a push must not
// discard a question. A superseded run can only be resumed by its id.
func (f Facts) byHead(m *checkpoint.Manifest) (d Decision, ok bool) {
	own := func(head string) bool { return m != nil && slices.Contains(f.Commits, head) }
	switch {
	case f.Mode != Auto && f.Mode != Require && f.Mode != Never:
		return d, false
	case m != nil && f.SupersededBy != "":
		return f.superseded(m.WorkflowID, f.SupersededBy), true
	case f.Mode == Require && m != nil && f.Head != "" && m.Head != f.Head && m.Supersedes.Head == f.Head:
		return f.superseded(m.Supersedes.WorkflowID, "run "+m.WorkflowID), true
	case f.Head != "" && f.Current != "" && f.Current != f.Head && !own(f.Current):
		return skip("this event is about %s, but the head of the pull request is now %s", Short(f.Head), Short(f.Current)), true
	case m == nil, m.Head == "", f.Head == "", m.Head == f.Head, own(f.Head), m.Status == state.Completed:
		return d, false
	case f.AsksPeople:
		return skip("run %s, about the head %s, waits for an answer, and its question stays open", m.WorkflowID, Short(m.Head)), true
	case m.Status == state.Running:
		if d := f.running(m); d.Action == Refuse {
			return d, true
		}
	}
	why := fmt.Sprintf("run %s is superseded: it is about the head %s, and this event about %s", m.WorkflowID, Short(m.Head), Short(f.Head))
	d = f.newOrRefuse(ClassConflict, why, "resume: auto starts a new run for this head, resume: "+m.WorkflowID+" continues the old one")
	d.Supersedes = d.Action == NewRun
	return d, true
}

// superseded decides about a run that another run has replaced. The re-run button starts a new run
// for a push, because each push may matter, but not for a push to a pull request.
func (f Facts) superseded(id, by string) Decision {
	if f.Mode == Auto && f.Attempt > 1 && f.Number == 0 {
		return Decision{Action: NewRun, Why: "run " + id + " was superseded by " + by}
	}
	return skip("run %s was superseded by %s; resume: %[1]s resumes it anyway", id, by)
}

func skip(format string, args ...any) Decision {
	return Decision{Action: Skip, Why: "nothing is started: " + fmt.Sprintf(format, args...)}
}

// Short shortens a commit id for users.
func Short(id string) string { return id[:min(7, len(id))] }

// Named identifies one checkpoint. One job passes it to the next as an output, which other jobs
// that store artifacts can't change.
type Named struct {
	WorkflowID string // of the run
	Generation int    // from 1
	Digest     string // of the manifest
}

// namedForm matches the text form of a Named.
var namedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*):([1-9][0-9]{0,8}):(sha256:[0-9a-f]{64})$`) })

// String returns the text form, on one line, which ParseNamed reads; "" for the zero value. The
// text is opaque to users who pass it on.
func (n Named) String() string {
	if n == (Named{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d:%s", n.WorkflowID, n.Generation, n.Digest)
}

// ParseNamed reads the result of Named.String. An empty text is the zero value.
func ParseNamed(text string) (Named, error) {
	if text == "" {
		return Named{}, nil
	}
	parts := namedForm().FindStringSubmatch(text)
	if parts == nil || !state.ValidID(parts[1]) {
		return Named{}, errors.New("is not a value of the output state-digest")
	}
	n, err := strconv.Atoi(parts[2])
	return Named{WorkflowID: parts[1], Generation: n, Digest: parts[3]}, err
}

// checkFollows returns why a checkpoint is neither the required one nor a later one of the same
// run, or "" if it is. m is nil if no checkpoint was found.
func (f Facts) checkFollows(m *checkpoint.Manifest) string {
	n, what := f.Follows, ""
	switch {
	case n == (Named{}):
		return ""
	case m == nil:
		what = "there is none"
	case m.WorkflowID != n.WorkflowID:
		what = "the newest checkpoint is of run " + m.WorkflowID
	case m.Generation < n.Generation:
		what = fmt.Sprintf("the newest one that exists is checkpoint %d: an older one was stored again", m.Generation)
	case m.Generation == n.Generation && f.Digest != n.Digest, m.Generation == n.Generation+1 && m.Previous != n.Digest:
		what = fmt.Sprintf("a different checkpoint %d is stored, made from other work", m.Generation)
	default:
		return ""
	}
	return fmt.Sprintf("the step must continue from checkpoint %d of run %s or a later one, but %s", n.Generation, n.WorkflowID, what)
}

// followsHint is the advice for a checkpoint that does not follow the required one.
const followsHint = "find out who may have stored or deleted artifacts of this workflow run; then delete the artifacts of this key and start a new run with resume: never, " +
	"or, if the checkpoint is the right one, run again without the input follows"

// Taker is a step whose key comes from the marker of a comment or from the input raymond-key rather
// than from its own inputs.
type Taker struct {
	Key      string // the key that the step's inputs name; "" for none
	Job      string // its id in the workflow file
	Matrix   string // digest of the values of its job in a matrix; "" for none
	RunID    int64  // of the workflow run
	NamesJob bool   // the step has the input job
	Called   bool   // the job belongs to a reusable workflow, where other jobs may have the same id
}

// MayTake reports whether the step may resume the run of a manifest. An event starts every job that
// waits for its kind, but only some of them may continue the run: the job that the key belongs to,
// jobs that have resumed the run before, jobs that name this key themselves, and jobs to which the
// run was handed in this workflow run.
func (t Taker) MayTake(m *checkpoint.Manifest) bool {
	if t.Key == m.Key {
		return true
	}
	of := m.KeyOrigin
	if of == nil || t.Called {
		return false
	}
	isHanded := t.NamesJob && t.Key != "" && m.RunID == t.RunID && t.RunID != 0
	isKnown := t.Job != "" && (t.Job == of.Job || slices.Contains(of.Others, t.Job))
	return isHanded || isKnown && t.Matrix == of.Matrix
}
