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

// taken returns the lookup of the run that the comment answers, or that a new run follows. Contents
// that the checkpoint lacks prevent a follow-up run in the same way as a resume.
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

// facts returns the facts for slots.Decide of a step that continues a run and never begins one.
func (c *call) facts(s *step, f *flow) slots.Facts {
	facts := factsOf(s, c.lookup, f)
	facts.Mode = c.mode(s.in.Resume)
	if m := c.manifest; m != nil {
		facts.Number = m.Number // an answer counts as an event of the run's own issue
	}
	return facts
}

// noteKey records for the post phase the key that this step may claim.
func (c *call) noteKey(note *stepNote) error {
	return note.change(func(d *noteData) { d.Key, d.Called = c.key, true })
}

// How long a step waits for a job that may be about to leave the run, and the shortest and longest
// pause between two checks.
const (
	settleFor   = 6 * time.Minute // the last save of a job takes 5 minutes at most
	firstGlance = 500 * time.Millisecond
	lastGlance  = 20 * time.Second
)

// hold waits until it is clear which job takes the answer, and claims the key before the run is
// restored. If another job drives the run and an agent is at work, that job reads the answer, and
// this step ends. If all agents wait, the other job may be about to leave, and this step takes over
// the run once the other job has left. Another step that an answer started may hold the key.
func (c *call) hold(ctx context.Context, s *step) error {
	pause := firstGlance
	for until := time.Now().Add(settleFor); ; pause = min(2*pause, lastGlance) {
		isLate := time.Now().After(until)
		switch isDriven := c.isDriven(s); {
		case isDriven && (isLate || slices.ContainsFunc(c.was.Agents, func(a *state.Agent) bool { return a.Status == state.Busy || a.Status == state.Ready })):
			return s.log.end(fmt.Sprintf("nothing is started: another job drives the run with the key %s and will read this comment", c.key))
		case isDriven:
		case c.found == nil || s.stored.runtime == nil:
			return nil
		default:
			if err := c.claimNow(ctx, s); err != nil || c.claim != nil {
				return err
			}
			if isLate {
				return s.log.end("nothing is started: another job has claimed the run and will read this comment")
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

// isDriven reports whether another job may be driving the run.
func (c *call) isDriven(s *step) bool {
	if !c.isStored() || c.manifest.Status != state.Running {
		return false // a process that drives a local run holds its lock
	}
	d := slots.Decide(c.manifest, c.facts(s, nil))
	return d.Action == slots.Refuse && d.Class == slots.ClassConflict
}

// sayStuck posts a comment, once per question, with the reason why the run can't continue after an
// answer. It ignores failures of services, because a later try may succeed.
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

// token returns the token of the question that the comment answers.
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

// isUnavailable reports whether an error means that a service could not be reached or refused
// access.
func isUnavailable(err error) bool {
	_, isDown := errors.AsType[*slots.Unavailable](err)
	_, isClosed := errors.AsType[*slots.NoAccess](err)
	return isDown || isClosed
}
