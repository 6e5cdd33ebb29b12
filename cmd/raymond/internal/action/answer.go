package action

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/state"
)

// findHead finds out where the code of a pull request comes from, once.
func findHead(ctx context.Context, s *step) error {
	api, err := s.api()
	if err != nil {
		return err
	}
	if err := api.FindHead(ctx, &s.event); err != nil {
		return errors.New("where the code of this event comes from can't be found out: " + err.Error())
	}
	return nil
}

// storeFault is of a service that was asked in vain.
func storeFault(where string, err error) error {
	return &problem.Problem{Class: problem.ClassStore, Where: where, What: err.Error(), Hint: "nothing was started; run the job again later"}
}

// admits lets somebody answer who may not start the run: whoever opened the issue, where a
// question says so. The job that took such an answer has been asked that before it left the
// run to a later one.
func (c *call) admits(ctx context.Context, s *step, denied *job.Denied) (bool, error) {
	asks := func(a *state.Agent) bool { return ask.AsksAuthor(a.Waits.Question) }
	if c.handed && denied.Who == s.event.Sender.Login {
		return true, nil
	}
	if !c.isCall || denied.Who != s.event.Sender.Login || !slices.ContainsFunc(c.open, asks) {
		return false, nil
	}
	api, err := s.api()
	if err != nil {
		return false, err
	}
	author, err := api.Author(ctx, s.event.Number)
	if err != nil {
		return false, storeFault("the author of the issue", err)
	}
	return ask.IsAuthor(author, s.event.Sender), nil
}

// taken is the lookup of a run that a remark calls for. The key is claimed before the run
// is put back; while another job has it, that one may take the answer.
func (c *call) taken(ctx context.Context, s *step, now present) (lookup, error) {
	if c.err != nil {
		return c.lookup, c.err
	}
	if c.isFollowUp {
		return c.followed(s, now)
	}
	if err := c.claim(ctx, s); err != nil || c.isOver {
		return c.lookup, err
	}
	facts, m := c.facts(s), c.manifest()
	measure(s, now.flow, &facts, c.run)
	if m == nil {
		m = localManifest(c.run, s.event.Number)
		facts.RunStatus = "completed" // who drives it holds its lock
	} else {
		for _, n := range c.lookup.found.Notices {
			s.voice.notice(n)
		}
	}
	var err error
	c.lookup.existing, err = decide(s, &earlierRun{run: c.run, found: c.lookup.found}, slots.Decide(m, facts), now.remarks)
	return c.lookup, err
}

// claim claims the key, if another job may have it: one that was just driving the run, or
// another step that was started by an answer.
func (c *call) claim(ctx context.Context, s *step) (err error) {
	if c.lookup.found == nil || c.lookup.services.runtime == nil {
		return nil
	}
	pause := firstGlance
	for until := time.Now().Add(settleFor); ; pause = min(2*pause, lastGlance) {
		if err := s.note.change(func(d *noteData) { d.Key, d.Called = c.lookup.key, true }); err != nil {
			return err
		}
		c.lookup.claim, err = claimNow(ctx, s.withKey(c.lookup.key), c.lookup.services)
		if err != nil || c.lookup.claim != nil {
			return err
		}
		if time.Now().After(until) {
			c.end(s, "nothing is started: another job has the run, and finds this comment by itself")
			return nil
		}
		if err := c.lookAgain(ctx, s, pause); err != nil || c.err != nil {
			return errors.Join(err, c.err)
		}
		if err := c.settle(ctx, s); err != nil || c.isOver {
			return err
		}
	}
}

// sayStuck says in a comment, once for a question, why the run can't continue that was to
// be given an answer. What may be otherwise soon is the step's own matter.
func (c *call) sayStuck(ctx context.Context, s *step, err error) {
	if !c.isCall || c.isOver || err == nil {
		return
	}
	var gone *slots.Gone
	token, why := c.token(s), problem.All(err)[0]
	if token == "" || !errors.As(err, &gone) && (why.Class == problem.ClassStore || why.Class == problem.ClassRuntime) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	api, apiErr := s.api()
	if apiErr != nil {
		return
	}
	forum, mark := api, ask.StuckMark(token)
	place, lookErr := ask.Look(ctx, forum, s.event.Number, time.Time{})
	if lookErr == nil && !place.Says(mark) {
		_, lookErr = forum.Say(ctx, s.event.Number, ask.Stuck(mark, s.voice.shown(forJob(s, why).Error())))
	}
	if lookErr != nil {
		s.voice.warn(commentRefused(s, lookErr))
	}
}

// token is that of the question that the remark is about.
func (c *call) token(s *step) string {
	if len(c.open) > 0 {
		return c.open[0].Waits.Question.Token
	}
	for _, p := range c.posted {
		if p.Key == c.lookup.key || p.Key == s.key {
			return p.Token
		}
	}
	return ""
}
