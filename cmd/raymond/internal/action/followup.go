package action

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// followUp is what a remark starts where no question is open: a run that continues the
// conversation of one that is completed.
type followUp struct {
	next       string // the state in which it begins; "" where the workflow has none
	completed  string // the first key that was looked at whose last run is completed; "" for none
	isFollowUp bool
}

// noteCompleted notes the key of a run that was looked at and that a remark may follow.
func (c *call) noteCompleted(s *step, key string) {
	if m := c.manifest(); c.next == "" || c.run.Progress.Status != state.Completed || m != nil && key != s.key && !mayTake(s, m) {
		return
	}
	c.completed = cmp.Or(c.completed, key)
}

// follow looks once more at the first run that is completed, and reports whether a new one
// follows it.
func (c *call) follow(ctx context.Context, s *step) bool {
	if c.completed == "" || s.in.Resume == job.ResumeRequire { // that one resumes a run, and begins none
		return false
	}
	c.lookAt(ctx, s, c.completed)
	c.isFollowUp = c.err == nil && c.run != nil && c.run.Progress.Status == state.Completed
	return c.isFollowUp
}

// followed is the lookup of the run that a new one follows. What its checkpoint lacks keeps
// the new one from being started, as it keeps others from being resumed.
func (c *call) followed(s *step, now present) (lookup, error) {
	if err := s.note.change(func(d *noteData) { d.Key, d.Called = c.lookup.key, true }); err != nil {
		return c.lookup, err
	}
	e := &earlierRun{run: c.run, found: c.lookup.found}
	m := c.manifest()
	if m == nil {
		c.lookup.follows = e
		return c.lookup, nil
	}
	left := *m
	left.Status = state.Suspended
	e, err := decide(s, e, slots.Decide(&left, c.facts(s)), now.remarks)
	c.lookup.follows = e
	return c.lookup, err
}

// beginFollowUp makes a run that begins in a branch of the conversation of the one that it
// follows, after its work and that conversation are back.
func beginFollowUp(ctx context.Context, s *step, r *remarks, b placed) error {
	e, w := b.follows, b.flow.Workflow
	first, _ := w.State(w.Entry())
	next, _ := w.State(first.OnComment)
	before := e.run
	if e.found != nil {
		b.began.KeyOf = cmp.Or(e.found.Manifest.KeyOf, b.began.KeyOf)
		var err error
		if before, err = bringBack(ctx, s, r, b); err != nil {
			return err
		}
	}
	o := s.options
	o.WorkflowID = job.WorkflowID(s.key, uuid.NewString()[:8])
	o.Input = ask.Payload(s.event.About, s.in.AnswerPrefix, next.Kind == protocol.Prompt)
	if err := beginRun(s, b.readyRun); err != nil {
		return err
	}
	if e.found == nil {
		if err := bringLocal(s, before.WorkflowID, before); err != nil {
			return err
		}
	}
	var last state.Last
	if before.Last != nil { // else where its conversation has ended was not kept
		last = *before.Last
	}
	b.run.FollowUp(next.Name, s.event.About.Author.Login, last)
	r.say(s, "run "+b.run.WorkflowID+" follows run "+before.WorkflowID+", which is completed, in a branch of its conversation")
	return nil
}
