package sticky

import (
	"errors"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// maxRecreated is how often a comment that somebody has removed is created again.
const maxRecreated = 1

// action is what is done next.
type action int

const (
	idle   action = iota // nothing, until there is news
	pause                // nothing, until a time
	look                 // look for ours among all
	create               // make one
	edit                 // bring it up to date
	remove               // remove a duplicate
	done                 // nothing more
)

// tracker decides what is done next. It has what is known about the comment, what the
// comment should say, and when the next request may be made.
type tracker struct {
	comment comment
	pacing  pacing
	want    news
	lastErr error // the last error; nil after a success
	failed  bool  // nothing more can be done
}

// next returns what to do now, and for pause when to look again.
func (t *tracker) next(now time.Time) (action, time.Time) {
	what, at := t.todo(now)
	if what != idle && what != done {
		if allowed := t.pacing.allowed(); now.Before(allowed) && at.Before(allowed) {
			what, at = pause, allowed
		}
	}
	// Finish need not wait for what would come after its deadline.
	if what == pause && t.want.final && at.After(t.want.deadline) {
		return done, time.Time{}
	}
	return what, at
}

// todo is next, but without pauses for errors and rate limits.
func (t *tracker) todo(now time.Time) (action, time.Time) {
	var at time.Time
	switch {
	case t.failed, t.want.body == "" && t.want.final:
		return done, at
	case t.want.body == "":
		return idle, at
	case t.comment.id == 0 && t.comment.searched:
		return create, at
	case t.comment.id == 0, t.comment.unverified:
		return look, at
	case len(t.comment.duplicates) > 0:
		return remove, at
	case t.comment.shown != t.want.body:
		if at := t.pacing.nextEdit(now); !t.want.final && now.Before(at) {
			return pause, at
		}
		return edit, at
	case t.want.final && t.comment.unsure:
		return look, at
	case t.want.final:
		return done, at
	}
	return idle, at
}

// take notes what the comment should say from now on. The last text does not wait for
// the pauses after errors.
func (t *tracker) take(n news) {
	if t.want = n; n.final {
		t.pacing.retryFrom, t.pacing.failures = time.Time{}, 0
	}
}

// created notes the comment that was made of a body.
func (t *tracker) created(c job.Remark, body string, now time.Time) {
	t.comment.id, t.comment.shown, t.pacing.wrote = c.ID, body, now
	t.comment.unverified = true
	if c.Author.Login != "" {
		t.comment.self = c.Author.Login
	}
}

// edited notes that the comment shows a body.
func (t *tracker) edited(body string, now time.Time) { t.comment.shown, t.pacing.wrote = body, now }

// succeeded notes that a request succeeded.
func (t *tracker) succeeded() { t.pacing.failures, t.lastErr = 0, nil }

// noteError notes the error of an action.
func (t *tracker) noteError(what action, err error, now time.Time) {
	t.lastErr = err
	e := &forge.Error{}
	errors.As(err, &e)
	if what == create {
		t.comment.searched = false // there may be one now, of ours or of another Poster
		t.comment.unsure = t.comment.unsure || e.Kind == forge.Unanswered
	}
	switch e.Kind {
	case forge.Unanswered:
		t.pacing.wait(now, t.want.final)
	case forge.Limited:
		t.pacing.limited(now, e.Wait)
	default:
		t.refused(what, e.Kind)
	}
}

// refused notes an error that would come again.
func (t *tracker) refused(what action, kind forge.Kind) {
	switch {
	case what == remove:
		t.comment.removed() // it is gone already, or can't be removed
	case what == look && t.comment.id != 0:
		t.comment.unverified, t.comment.unsure = false, false
	case what == edit && kind == forge.Missing && t.comment.recreated < maxRecreated:
		t.comment.id, t.comment.searched, t.comment.recreated = 0, false, t.comment.recreated+1
	default:
		t.failed = true
	}
}
