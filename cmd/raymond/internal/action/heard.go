package action

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// call is a remark of somebody that may answer a question of a run: the step continues
// that run, and never begins one, unless the remark follows one that is completed. A nil call is that of any other event.
type call struct {
	key      string               // of the run that was looked at last
	lookup                        // of that run
	open     []*state.Agent       // whose questions are asked where the remark was made
	isHanded bool                 // an earlier job of this event has left the run to this step
	posted   []ask.PostedQuestion // questions whose comments stand there
	err      error                // why the run can't be had
	others   string               // why a run that was found is not taken here; "" when there was none

	next       string // the state in which a run begins that follows a completed one; "" where the workflow has none
	completed  string // the first key that was looked at whose last run is completed; "" for none
	isFollowUp bool   // no question is open, and a new run follows that one
}

// hear finds out what the remark that has started the step is for. A remark that doesn't
// begin with the prefix is none of our business, and nobody is asked anything.
func hear(ctx context.Context, s *step, from source) (*call, error) {
	if s.in.Mode != job.ModeRun || s.event.Comment.Kind == "" || s.event.Number == 0 {
		return nil, nil
	}
	w := workflowOf(ctx, s, from)
	if w == nil || !mayAsk(w) {
		return nil, nil // comments start it as any event does
	}
	c := &call{}
	if first, ok := w.State(w.Entry()); ok {
		c.next = first.OnComment
	}
	if _, ok := ask.ParseAnswer(s.event.Comment.Body, s.in.AnswerPrefix); !ok || ask.IsQuestionOrReply(s.event.Comment.Body) {
		return c, errSkipped
	}
	err := c.find(ctx, s)
	if c.isFound() || c.isFollowUp {
		s.key = c.key
	}
	return c, err
}

// workflowOf reads the workflow, to see whether it asks anybody; nil when it can't be
// read. The checkout may be of a stranger, who doesn't decide that.
func workflowOf(ctx context.Context, s *step, from source) *protocol.Workflow {
	if s.event.Kind == job.KindPullRequest && !isBuiltin(s.in.Workflow) {
		if committed, err := committedSource(ctx, s, from); err == nil {
			from = committed
		}
	}
	files, err := scope.Open(from.path)
	if err != nil {
		return nil
	}
	defer files.Close()
	return files.Workflow
}

// mayAsk reports whether any state of a workflow asks people something, or comments may
// continue its runs.
func mayAsk(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.OnComment != "" || strings.Contains(st.Body, "<ask") || slices.Contains(st.Policy.Transitions.Tags, protocol.Ask) ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask })
	})
}

// asksStrangers reports whether a state of a workflow may ask somebody who may not start it.
func asksStrangers(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.Kind == protocol.Script && strings.Contains(st.Body, "untrusted=") ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask && r.Attrs["untrusted"] == "true" })
	})
}

// otherKeys is how many runs with other keys are looked for at most.
const otherKeys = 5

// find looks for a run that has a question open where the remark was made: that of the
// step's own key, or else those that the comments there point to. Without one the remark may follow a completed run, or
// the step has nothing to do, unless the run of its own key could not be looked at.
func (c *call) find(ctx context.Context, s *step) error {
	findHead(ctx, s.api, &s.event, s.log)
	if c.lookAt(ctx, s, s.key); c.isFound() {
		return nil
	}
	isNone, own := c.was == nil && c.err == nil && !s.in.IsLocal(), c.err
	since := time.Now().Add(-time.Duration(s.in.RetentionDays+30) * 24 * time.Hour)
	place, err := ask.ReadOwnComments(ctx, s.api, s.event.Number, since)
	if err != nil {
		return storeFault("comments", err)
	}
	c.posted, c.err = place.Questions, nil
	if isNone {
		own = c.expired(s.event, s.key)
	}
	for _, key := range c.keys(s.event.Workflow, s.key) {
		if c.lookAt(ctx, s, key); c.isFound() {
			return nil
		}
	}
	if c.err == nil && (isUnavailable(own) || slices.ContainsFunc(c.posted, func(p ask.PostedQuestion) bool { return p.Key == s.key })) {
		c.err = own
	}
	if c.err != nil || c.isFollowing(ctx, s) {
		return nil
	}
	return s.log.end(cmp.Or(c.others, "nothing is started: no question of a run is open here"))
}

// expired is the error of a question of the step's own key that is open here, and of
// which there is no checkpoint any more; nil when there is none.
func (c *call) expired(e job.Event, key string) error {
	for _, p := range c.posted {
		if p.IsOpen && p.Key == key && p.Workflow == e.Workflow {
			return &slots.Gone{Name: "the checkpoint of run " + p.Run}
		}
	}
	return nil
}

// keys are those that comments here point to, of this workflow file, but for the step's
// own, the newest first.
func (c *call) keys(workflow, own string) []string {
	var keys []string
	for _, p := range c.posted {
		if p.Workflow == workflow && p.Key != own && !slices.Contains(keys, p.Key) && len(keys) < otherKeys {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// isFound reports whether a run was found that has a question open here, or that is this
// step's to continue because the remark has been heard already.
func (c *call) isFound() bool { return len(c.open) > 0 || c.isHanded }

// isLeft reports whether an earlier job of this event, or an earlier attempt of this one,
// has taken the answer and left the run to this step.
func (c *call) isLeft(e job.Event, in job.Settings, jobs []string) bool {
	if found := c.found; found != nil {
		return found.OlderHere || found.InThisRun && (c.manifest.Status != state.Completed || e.Attempt > 1)
	}
	return in.NamesJob && slices.ContainsFunc(c.was.Agents, func(a *state.Agent) bool {
		return a.Waits != nil && a.Waits.For == state.ForJob && slices.Contains(jobs, a.Waits.Job)
	})
}

// lookAt looks at the run of a key. What keeps it from being read is kept, unless an
// earlier key has left something.
func (c *call) lookAt(ctx context.Context, s *step, key string) {
	c.found.Remove()
	var err error
	c.key, c.open, c.isHanded = key, nil, false
	if c.lookup, err = look(ctx, s, key, c.mode(s.in.Resume)); err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	m := c.manifest
	if m == nil {
		return
	}
	for _, a := range c.was.OpenQuestions() {
		if c.isHere(s.event.Number, a.Waits.Question, m.Number) {
			c.open = append(c.open, a)
		}
	}
	c.isHanded = c.isLeft(s.event, s.in, s.options.Jobs)
	isOthers := c.isStored() && key != s.key && !mayTake(s.event, s.in, m)
	if isOthers && c.isFound() {
		c.others, c.open, c.isHanded = notTaken(s.log, m), nil, false
	}
	if c.next != "" && c.was.Progress.Status == state.Completed && !isOthers {
		c.completed = cmp.Or(c.completed, key)
	}
}

// mode is the input resume of a step that continues a run and begins none.
func (c *call) mode(resume string) string {
	if resume == job.ResumeAuto || resume == job.ResumeNever {
		return job.ResumeRequire
	}
	return resume
}

// isHere reports whether a question is asked on the issue that the event is about. number
// is that of the step that stored the run. A comment proves nothing by what it says, so it
// has to be the very one that the run knows.
func (c *call) isHere(here int, q *state.Question, number int) bool {
	switch {
	case q.Where != 0:
		return q.Where == here
	case q.Comment == 0:
		return number == here
	case number == here && len(c.posted) == 0:
		return true // nobody has looked at the comments, and nobody needs to
	}
	return slices.ContainsFunc(c.posted, func(p ask.PostedQuestion) bool { return p.Comment == q.Comment })
}

// isFollowing looks once more at the first run that is completed, and reports whether a new one
// follows it.
func (c *call) isFollowing(ctx context.Context, s *step) bool {
	if c.completed == "" || s.in.Resume == job.ResumeRequire { // that one resumes a run, and begins none
		return false
	}
	c.lookAt(ctx, s, c.completed)
	c.isFollowUp = c.err == nil && c.was != nil && c.was.Progress.Status == state.Completed
	return c.isFollowUp
}

// admits lets somebody answer who may not start the run: whoever opened the issue, where a
// question says so. The job that took such an answer has been asked that before it left the
// run to a later one.
func (c *call) admits(ctx context.Context, api *job.GitHub, e job.Event, denied *job.Denial) (bool, error) {
	if c == nil || denied.Who != e.Sender.Login {
		return false, nil
	}
	asks := func(a *state.Agent) bool { return ask.AuthorMayAnswer(a.Waits.Question) }
	if c.isHanded || !slices.ContainsFunc(c.open, asks) {
		return c.isHanded, nil
	}
	author, err := api.IssueAuthor(ctx, e.Number)
	if err != nil {
		return false, storeFault("the author of the issue", err)
	}
	return ask.IsAuthor(author, e.Sender), nil
}
