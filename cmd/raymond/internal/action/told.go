package action

import (
	"cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
)

// toldKey is the key of the run that a dispatch of the workflow asks to continue; "" for
// none. Anybody who may dispatch the workflow can write anything there: it is compared with
// the keys of runs that this repository's own jobs have stored, and nothing is ever stored
// under it that was not found under it. On other events it counts for nothing, since its
// text might be a stranger's.
func toldKey(s *step) string {
	if s.event.Name != "workflow_dispatch" || s.in.Mode != job.ModeRun {
		return ""
	}
	return cmp.Or(s.in.RaymondKey, s.event.Dispatched)
}

// isTold reports whether the step was told the key of its run. It then continues that run,
// or does nothing.
func isTold(s *step) bool { return toldKey(s) != "" }

// adopt takes over from the part of a run before what the event of this job does not say:
// which issue or pull request it is about, and that the checkout isn't trusted. A checkout
// that was a stranger's comes back with the run, whatever event continues it. Neither is one
// trusted of a workflow that asks strangers.
func adopt(s *step, r *result, l lookup) error {
	last := lastPart(s, l)
	if s.event.Number == 0 {
		s.event.Subject = last.Subject
	}
	if s.in.TrustCheckout == nil && (last.Untrusted || asksStrangers(r.flow.Workflow)) {
		r.admission.isTrusted = false
	}
	return s.note.change(func(d *noteData) { d.Subject, d.Untrusted = s.event.Subject, !r.admission.isTrusted })
}

// lastPart is what the part of a run before this one has left for the next.
func lastPart(s *step, l lookup) localNote {
	switch e := l.before(); {
	case e == nil:
		return localNote{}
	case e.found != nil:
		m := e.found.Manifest
		return localNote{Subject: job.Subject{Kind: m.Kind, Number: m.Number, Title: m.Title}, Untrusted: m.Untrusted}
	default:
		return readLocalNote(s, e.run.WorkflowID)
	}
}
