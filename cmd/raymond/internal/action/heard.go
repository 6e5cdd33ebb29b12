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

// call is a comment event that may answer an open question of a run. The step then continues that
// run, or, if the comment follows a completed run, starts a new one. A nil call means an event of
// another kind.
type call struct {
	key      string               // of the run that was looked up last
	lookup                        // the result for that key
	open     []*state.Agent       // agents with an open question where the comment was made
	isHanded bool                 // an earlier job of this event has left the run to this step
	posted   []ask.PostedQuestion // questions that were posted where the comment was made
	err      error                // why the run can't be read
	others   string               // why this step may not continue a run that was found; "" for none

	next       string // the first state of a run that follows a completed one; "" for none
	completed  string // the first key whose newest run is completed; "" for none
	isFollowUp bool   // no question is open, and a new run follows the completed one
}

// hear finds the run for a comment that has started the step. It returns a nil call for other
// events. A comment that doesn't begin with the prefix skips the step without a request to any
// service.
func hear(ctx context.Context, s *step, from source) (*call, error) {
	if s.in.Mode != job.ModeRun || s.event.Comment.Kind == "" || s.event.Number == 0 {
		return nil, nil
	}
	w := workflowOf(ctx, s, from)
	if w == nil || !mayAsk(w) {
		return nil, nil // comments start the workflow like any other event
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

// workflowOf reads the workflow to see whether it asks questions, or returns nil if it can't be
// read. For a pull request it reads the committed workflow, because a stranger's checkout must not
// decide this.
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

// mayAsk reports whether a state of a workflow may ask people something, or comments may continue
// its runs.
func mayAsk(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.OnComment != "" || strings.Contains(st.Body, "<ask") || slices.Contains(st.Policy.Transitions.Tags, protocol.Ask) ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask })
	})
}

// asksStrangers reports whether a state of a workflow may ask people who may not start it.
func asksStrangers(w *protocol.Workflow) bool {
	return slices.ContainsFunc(w.Names(), func(name string) bool {
		st, _ := w.State(name)
		return st.Kind == protocol.Script && strings.Contains(st.Body, "untrusted=") ||
			slices.ContainsFunc(st.Policy.Transitions.Allowed, func(r protocol.Rule) bool { return r.Tag == protocol.Ask && r.Attrs["untrusted"] == "true" })
	})
}

// otherKeys is the maximum number of other keys whose runs are looked up.
const otherKeys = 5

// find looks for a run with an open question where the comment was made: first the run of the
// step's own key, then the runs that the comments there point to. Without such a run, the comment
// may follow a completed run. Otherwise the step has nothing to do, unless the run of the step's
// key could not be read.
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

// expired returns an error if a question of the step's own key is open here but its checkpoint no
// longer exists.
func (c *call) expired(e job.Event, key string) error {
	for _, p := range c.posted {
		if p.IsOpen && p.Key == key && p.Workflow == e.Workflow {
			return &slots.Gone{Name: "the checkpoint of run " + p.Run}
		}
	}
	return nil
}

// keys returns the keys to which comments of this workflow file point here, without the step's own,
// newest first.
func (c *call) keys(workflow, own string) []string {
	var keys []string
	for _, p := range c.posted {
		if p.Workflow == workflow && p.Key != own && !slices.Contains(keys, p.Key) && len(keys) < otherKeys {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// isFound reports whether the run that was looked up has an open question here, or was left to this
// step after its question was answered.
func (c *call) isFound() bool { return len(c.open) > 0 || c.isHanded }

// isLeft reports whether an earlier job of this event, or an earlier attempt of this job, has taken
// the answer and left the run to this step.
func (c *call) isLeft(e job.Event, in job.Settings, jobs []string) bool {
	if found := c.found; found != nil {
		return found.OlderHere || found.InThisRun && (c.manifest.Status != state.Completed || e.Attempt > 1)
	}
	return in.NamesJob && slices.ContainsFunc(c.was.Agents, func(a *state.Agent) bool {
		return a.Waits != nil && a.Waits.For == state.ForJob && slices.Contains(jobs, a.Waits.Job)
	})
}

// lookAt looks up the run of a key. Errors are collected in c.err.
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

// mode returns the input resume for a step that continues a run and never begins one.
func (c *call) mode(resume string) string {
	if resume == job.ResumeAuto || resume == job.ResumeNever {
		return job.ResumeRequire
	}
	return resume
}

// isHere reports whether a question was posted on the issue of the event. number is the issue of
// the step that stored the run. The text of a comment proves nothing, so the comment must have the
// id that the run has recorded.
func (c *call) isHere(here int, q *state.Question, number int) bool {
	switch {
	case q.Where != 0:
		return q.Where == here
	case q.Comment == 0:
		return number == here
	case number == here && len(c.posted) == 0:
		return true // the comments have not been read, and are not needed
	}
	return slices.ContainsFunc(c.posted, func(p ask.PostedQuestion) bool { return p.Comment == q.Comment })
}

// isFollowing looks up the first completed run again, and reports whether a new run follows it.
func (c *call) isFollowing(ctx context.Context, s *step) bool {
	if c.completed == "" || s.in.Resume == job.ResumeRequire { // require resumes a run and never begins one
		return false
	}
	c.lookAt(ctx, s, c.completed)
	c.isFollowUp = c.err == nil && c.was != nil && c.was.Progress.Status == state.Completed
	return c.isFollowUp
}

// admits reports whether a sender who may not start the run may answer its question: the author of
// the issue, if the question allows it. An earlier job of this event has made this check already if
// it has left the run to this step.
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
