package slots

import (
	"fmt"
	"slices"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/state"
)

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
