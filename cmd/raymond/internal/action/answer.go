package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// taken is the lookup of the run that the remark calls for, or that a new one follows. What its checkpoint lacks keeps
// the new one from being started, as it keeps others from being resumed.
func (c *call) taken(ctx context.Context, s *step, f *flow) (l lookup, err error) {
	if c.err != nil {
		return l, c.err
	}
	if c.isFollowUp {
		if err := c.noteKey(s.note); err != nil || !c.isStored() {
			c.how = follows
			return c.lookup, err
		}
		left := *c.manifest
		left.Status = state.Suspended
		err = c.take(s.log, slots.Decide(&left, c.facts(s, nil)), follows)
		return c.lookup, err
	}
	if err := c.hold(ctx, s); err != nil {
		return l, err
	}
	err = c.take(s.log, slots.Decide(c.manifest, c.facts(s, f)), resumes)
	return c.lookup, err
}

// facts are those of a step that continues a run and begins none.
func (c *call) facts(s *step, f *flow) slots.Facts {
	facts := factsOf(s, c.lookup, f)
	facts.Mode = c.mode(s.in.Resume)
	if m := c.manifest; m != nil {
		facts.Number = m.Number // the question stands here
	}
	return facts
}

// noteKey notes for the post part whose claim this step may have.
func (c *call) noteKey(note *stepNote) error {
	return note.change(func(d *noteData) { d.Key, d.Called = c.key, true })
}

// How long a step waits for a job that may be about to leave, and how long it waits
// between two looks.
const (
	settleFor   = 6 * time.Minute // the last save of a job takes 5 minutes at most
	firstGlance = 500 * time.Millisecond
	lastGlance  = 20 * time.Second
)

// hold waits until it is clear who takes the answer, and claims the key before the run is put back. A job that still
// drives the run finds the answer, unless that is about to leave: then all agents wait, and this step takes the run
// over as soon as the other job has left. Another step that was started by an answer may have the key.
func (c *call) hold(ctx context.Context, s *step) error {
	pause := firstGlance
	for until := time.Now().Add(settleFor); ; pause = min(2*pause, lastGlance) {
		isLate := time.Now().After(until)
		switch isDriven := c.isDriven(s); {
		case isDriven && (isLate || slices.ContainsFunc(c.was.Agents, func(a *state.Agent) bool { return a.Status == state.Busy || a.Status == state.Ready })):
			return s.log.end(fmt.Sprintf("nothing is started: the run of the key %s is driven by another job, which finds this comment by itself", c.key))
		case isDriven:
		case c.found == nil || s.stored.runtime == nil:
			return nil
		default:
			if err := c.claimNow(ctx, s); err != nil || c.claim != nil {
				return err
			}
			if isLate {
				return s.log.end("nothing is started: another job has the run, and finds this comment by itself")
			}
		}
		if err := forge.Sleep(ctx, pause); err != nil {
			return err
		}
		if c.lookAt(ctx, s, c.key); c.err != nil {
			return c.err
		}
		if !c.isFound() {
			return s.log.end("nothing is started: another job has taken the answer")
		}
	}
}

// isDriven reports whether another job drives the run, as far as that can be known.
func (c *call) isDriven(s *step) bool {
	if !c.isStored() || c.manifest.Status != state.Running {
		return false // who drives one of this machine holds its lock
	}
	d := slots.Decide(c.manifest, c.facts(s, nil))
	return d.Action == slots.Refuse && d.Class == slots.ClassConflict
}

// sayStuck says in a comment, once for a question, why the run can't continue that was to
// be given an answer. What may be otherwise soon is the step's own matter.
func (c *call) sayStuck(ctx context.Context, s *step, err error) {
	if c == nil || isGreen(err) {
		return
	}
	_, isGone := errors.AsType[*slots.Gone](err)
	token, why := c.token(s.key), problem.Flatten(err)[0]
	if token == "" || !isGone && (why.Class == problem.ClassStore || why.Class == problem.ClassRuntime) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	mark := ask.RejectionMark(token)
	place, err := ask.ReadOwnComments(ctx, s.api, s.event.Number, time.Time{})
	if err == nil && !place.Contains(mark) {
		_, err = s.api.CreateComment(ctx, s.event.Number, ask.RejectionBody(mark, s.log.shown(forJob(s.log, why).Error())))
	}
	if err != nil {
		s.log.warn(commentRefused(s.event.Kind, err))
	}
}

// token is that of the question that the remark is about.
func (c *call) token(key string) string {
	if len(c.open) > 0 {
		return c.open[0].Waits.Question.Token
	}
	for _, p := range c.posted {
		if p.Key == c.key || p.Key == key {
			return p.Token
		}
	}
	return ""
}

// isUnavailable reports whether an error is of a service that could not be asked.
func isUnavailable(err error) bool {
	_, isDown := errors.AsType[*slots.Unavailable](err)
	_, isClosed := errors.AsType[*slots.NoAccess](err)
	return isDown || isClosed
}
