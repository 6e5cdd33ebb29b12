package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// call is a remark of somebody that may answer a question of a run: the step continues
// that run, and never begins one. Its zero value is that of any other event.
type call struct {
	isCall bool
	isOver bool // the step has nothing to do
	lookup lookup
	run    *state.Run     // as the checkpoint has it; nil when it could not be had
	open   []*state.Agent // whose questions are asked where the remark was made
	handed bool           // an earlier job of this event has left the run to this step
	posted []ask.Posted   // questions whose comments stand there
	err    error          // why the run can't be had
	others string         // why a run that was found is not taken here; "" when there was none
	followUp
}

// hear finds out what the remark that has started the step is for. A remark that doesn't
// begin with the prefix is none of our business, and nobody is asked anything.
func hear(ctx context.Context, s *step, from source) (*call, error) {
	c := &call{}
	if s.in.Mode != job.ModeRun || s.event.About.Kind == "" || s.event.Number == 0 {
		return c, nil
	}
	w := workflowOf(ctx, s, from)
	if w == nil || !mayAsk(w) {
		return c, nil // comments start it as any event does
	}
	c.isCall = true
	if first, ok := w.State(w.Entry()); ok {
		c.next = first.OnComment
	}
	if _, ok := ask.Call(s.event.About.Body, s.in.AnswerPrefix); !ok || ask.IsMarked(s.event.About.Body) {
		c.isOver = true
		return c, nil
	}
	err := c.find(ctx, s)
	if c.isFound() || c.isFollowUp {
		s.key = c.lookup.key
	}
	return c, err
}

// workflowOf reads the workflow, to see whether it asks anybody; nil when it can't be
// read. The checkout may be of a stranger, who doesn't decide that.
func workflowOf(ctx context.Context, s *step, from source) *protocol.Workflow {
	if s.event.Kind == job.KindPullRequest && !s.isBuiltin() {
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
// step's own key, or else those that the comments there point to.
func (c *call) find(ctx context.Context, s *step) error {
	if err := findHead(ctx, s); err != nil {
		s.voice.warn(err.Error())
	}
	if c.lookAt(ctx, s, s.key); c.isFound() {
		return c.settle(ctx, s)
	}
	isNone := c.run == nil && c.err == nil && !s.isLocal()
	api, err := s.api()
	if err != nil {
		return err
	}
	since := time.Now().Add(-time.Duration(s.in.RetentionDays+30) * 24 * time.Hour)
	place, err := ask.Look(ctx, api, s.event.Number, since)
	if err != nil {
		return storeFault("comments", err)
	}
	c.posted = place.Posted
	own := c.err
	if c.err = nil; isNone {
		own = errors.Join(own, c.expired(s))
	}
	for _, key := range c.keys(s) {
		if c.lookAt(ctx, s, key); c.isFound() {
			return c.settle(ctx, s)
		}
	}
	return c.findNone(ctx, s, own)
}

// expired is the error of a question of the step's own key that is open here, and of
// which there is no checkpoint any more; nil when there is none.
func (c *call) expired(s *step) error {
	for _, p := range c.posted {
		if p.IsOpen && p.Key == s.key && p.Workflow == s.workflowFile() {
			return &slots.Gone{Name: "the checkpoint of run " + p.Run}
		}
	}
	return nil
}

// findNone ends the search when no question is open: the remark may follow a completed run,
// or the step has nothing to do, unless the run of its own key could not be looked at. own
// says why.
func (c *call) findNone(ctx context.Context, s *step, own error) error {
	if c.err == nil && (isUnavailable(own) || slices.ContainsFunc(c.posted, func(p ask.Posted) bool { return p.Key == s.key })) {
		c.err = own
	}
	if c.err == nil && c.follow(ctx, s) {
		return nil
	}
	if c.err == nil {
		c.end(s, cmp.Or(c.others, "nothing is started: no question of a run is open here"))
	}
	return nil
}

// end ends the step, with one line.
func (c *call) end(s *step, why string) {
	c.lookup.remove()
	c.isOver = true
	s.voice.print(s.voice.shown(why))
}

// keys are those that comments here point to, of this workflow file, but for the step's
// own, the newest first.
func (c *call) keys(s *step) []string {
	var keys []string
	for _, p := range c.posted {
		if p.Workflow == s.workflowFile() && p.Key != s.key && !slices.Contains(keys, p.Key) && len(keys) < otherKeys {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// isFound reports whether a run was found that has a question open here, or that is this
// step's to continue because the remark has been heard already.
func (c *call) isFound() bool { return len(c.open) > 0 || c.handed }

// isHanded reports whether an earlier job of this event, or an earlier attempt of this one,
// has taken the answer and left the run to this step.
func (c *call) isHanded(s *step) bool {
	if found := c.lookup.found; found != nil {
		return found.OlderHere || found.InThisRun && (found.Manifest.Status != state.Completed || s.event.Attempt > 1)
	}
	return s.in.NamesJob && slices.ContainsFunc(c.run.Agents, func(a *state.Agent) bool {
		return a.Waits != nil && a.Waits.For == state.ForJob && slices.Contains(s.options.Jobs, a.Waits.Job)
	})
}

// lookAt looks at the run of a key. What keeps it from being read is kept, unless an
// earlier key has left something.
func (c *call) lookAt(ctx context.Context, s *step, key string) {
	c.lookup.remove()
	c.lookup, c.run, c.open, c.handed = lookup{key: key}, nil, nil, false
	k := s.withKey(key)
	var err error
	if s.isLocal() {
		c.run, err = newestLocal(k)
	} else {
		err = c.lookAtStored(ctx, k)
	}
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	if c.run == nil {
		return
	}
	number := s.event.Number
	if c.lookup.found != nil {
		number = c.lookup.found.Manifest.Number
	}
	for _, a := range c.run.OpenQuestions() {
		if c.isHere(s, a.Waits.Question, number) {
			c.open = append(c.open, a)
		}
	}
	c.handed = c.isHanded(s)
	if m := c.manifest(); key != s.key && c.isFound() && m != nil && !mayTake(s, m) {
		c.others, c.open, c.handed = notTaken(s, m), nil, false
	}
	c.noteCompleted(s, key)
}

func (c *call) lookAtStored(ctx context.Context, k *step) error {
	v, err := k.openServices()
	if err != nil {
		return err
	}
	c.lookup.services = v
	q := k.query()
	if q.Mode == job.ResumeAuto || q.Mode == job.ResumeNever {
		q.Mode = slots.Require
	}
	found, err := v.finder().Find(ctx, q)
	if err != nil {
		return err
	}
	c.lookup.found = found
	if found.Manifest == nil {
		return nil
	}
	c.run, err = readState(found)
	return err
}

// isHere reports whether a question is asked on the issue that the event is about. number
// is that of the step that stored the run. A comment proves nothing by what it says, so it
// has to be the very one that the run knows.
func (c *call) isHere(s *step, q *state.Question, number int) bool {
	here := s.event.Number
	switch {
	case q.Where != 0:
		return q.Where == here
	case q.Comment == 0:
		return number == here
	case number == here && len(c.posted) == 0:
		return true // nobody has looked at the comments, and nobody needs to
	}
	return slices.ContainsFunc(c.posted, func(p ask.Posted) bool { return p.Comment == q.Comment })
}

// How long a step waits for a job that may be about to leave, and how long it waits
// between two looks.
const (
	settleFor   = 6 * time.Minute // the last save of a job takes 5 minutes at most
	firstGlance = 500 * time.Millisecond
	lastGlance  = 20 * time.Second
)

// settle waits until it is clear who takes the answer. A job that still drives the run
// finds it, unless that is about to leave: then all agents wait, and this step takes the
// run over as soon as the other job has left.
func (c *call) settle(ctx context.Context, s *step) error {
	pause := firstGlance
	for until := time.Now().Add(settleFor); !c.isOver && c.isDriven(s); pause = min(2*pause, lastGlance) {
		if isBusy(c.run) || time.Now().After(until) {
			c.end(s, fmt.Sprintf("nothing is started: the run of the key %s is driven by another job, which finds this comment by itself", c.lookup.key))
			return nil
		}
		if err := c.lookAgain(ctx, s, pause); err != nil || c.err != nil {
			return err
		}
	}
	return nil
}

// lookAgain looks at the run again after a pause: its answer may be another job's by then.
func (c *call) lookAgain(ctx context.Context, s *step, pause time.Duration) error {
	if err := forge.Sleep(ctx, pause); err != nil {
		return err
	}
	c.err = nil
	if c.lookAt(ctx, s, c.lookup.key); c.err == nil && !c.isFound() && !c.isOver {
		c.end(s, "nothing is started: another job has taken the answer")
	}
	return nil
}

// isBusy reports whether agents of a run work, or could.
func isBusy(run *state.Run) bool {
	return slices.ContainsFunc(run.Agents, func(a *state.Agent) bool { return a.Status == state.Busy || a.Status == state.Ready })
}

// isDriven reports whether another job drives the run, as far as that can be known.
func (c *call) isDriven(s *step) bool {
	m := c.manifest()
	if m == nil || m.Status != state.Running {
		return false // who drives one of this machine holds its lock
	}
	d := slots.Decide(m, c.facts(s))
	return d.Action == slots.Refuse && d.Class == slots.ClassConflict
}

// manifest is that of the run that was found; nil with store: local.
func (c *call) manifest() *checkpoint.Manifest {
	if c.lookup.found == nil {
		return nil
	}
	return c.lookup.found.Manifest
}

// facts are those of a step that continues a run and begins none.
func (c *call) facts(s *step) slots.Facts {
	f := factsFound(s, c.lookup.found)
	if f.Mode == job.ResumeAuto || f.Mode == job.ResumeNever {
		f.Mode = slots.Require
	}
	if m := c.manifest(); m != nil {
		f.Number = m.Number // the question stands here
	}
	return f
}

// remove removes what was downloaded.
func (c *call) remove() { c.lookup.remove() }

// isUnavailable reports whether an error is of a service that could not be asked.
func isUnavailable(err error) bool {
	var u *slots.Unavailable
	var n *slots.NoAccess
	return errors.As(err, &u) || errors.As(err, &n)
}
