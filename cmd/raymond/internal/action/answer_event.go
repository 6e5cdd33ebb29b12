package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// answerEvent is a comment event that may answer an open question of a run. The step then continues
// that run, or, if the comment follows a completed run, starts a new one. A nil answerEvent means an
// event of another kind.
type answerEvent struct {
	job      *Job // with the key of the run that was found
	log      *jobLog
	store    store.Store
	key      string               // of the run that was looked up last
	lookup   *store.Lookup        // the result for that key; nil before the first lookup
	open     []*state.Agent       // agents with an open question where the comment was made
	isHanded bool                 // an earlier job of this event has left the run to this step
	posted   []ask.PostedQuestion // questions that were posted where the comment was made
	err      error                // why the run can't be read
	others   string               // why this step may not continue a run that was found; "" for none
	lease    store.Lease          // of the run's key; nil before the step has claimed it

	next       string // the first state of a run that follows a completed one; "" for none
	completed  string // the first key whose newest run is completed; "" for none
	isFollowUp bool   // no question is open, and a new run follows the completed one
}

// findAnswer finds the run for a comment that has started the step. It returns nil for other events. A
// comment that doesn't begin with the prefix skips the step without a request to any service.
func findAnswer(ctx context.Context, j *Job, s *scratch, from store.Store, code source) (*answerEvent, error) {
	if j.in.Mode != job.ModeRun || j.event.Comment.Kind == "" || j.event.Number == 0 {
		return nil, nil
	}
	if j.event.Kind == job.KindPullRequest && !isBuiltin(j.in.Workflow) { // a stranger's checkout must not decide whether the workflow asks questions
		if committed, err := committedSource(ctx, j, s, code); err == nil {
			code = committed
		}
	}
	opened, err := scope.Open(code.path)
	if err != nil {
		return nil, nil //nolint:nilerr // opening the workflow reports it later
	}
	defer opened.Close()
	w := opened.Workflow
	if !mayAsk(w) {
		return nil, nil // comments start the workflow like any other event
	}
	a := &answerEvent{job: j, log: s.log, store: from}
	if first, ok := w.State(w.Entry()); ok {
		a.next = first.OnComment
	}
	if _, ok := ask.ParseAnswer(j.event.Comment.Body, j.in.AnswerPrefix); !ok || ask.IsQuestionOrReply(j.event.Comment.Body) {
		return a, errSkipped
	}
	a.job = j.withHead(ctx, s.log)
	if err = a.search(ctx); a.isFound() || a.isFollowUp {
		a.job.key.Name = a.key
	}
	return a, err
}

// otherKeys is the maximum number of other keys whose runs are looked up.
const otherKeys = 5

// search looks for a run with an open question where the comment was made: first the run of the
// step's own key, then the runs that the comments there point to. Without such a run, the comment
// may follow a completed run. Otherwise the step has nothing to do, unless the run of the step's
// key could not be read.
func (a *answerEvent) search(ctx context.Context) error {
	j := a.job
	own := j.key.Name
	if a.lookAt(ctx, own); a.isFound() {
		return nil
	}
	isMissing, ownErr := a.lookup.Run == nil && a.err == nil, a.err
	since := time.Now().Add(-time.Duration(j.in.RetentionDays+30) * 24 * time.Hour)
	place, err := ask.ReadOwnComments(ctx, j.api, j.event.Number, since)
	if err != nil {
		return serviceFault("comments", err)
	}
	a.posted, a.err = place.Questions, nil
	if isMissing && !a.lookup.OnMachine {
		ownErr = a.expired(own)
	}
	if a.lookAtOthers(ctx, own); a.isFound() {
		return nil
	}
	_, isDown := errors.AsType[*slots.Unavailable](ownErr)
	_, isClosed := errors.AsType[*slots.NoAccess](ownErr)
	if a.err == nil && (isDown || isClosed || slices.ContainsFunc(a.posted, func(p ask.PostedQuestion) bool { return p.Key == own })) {
		a.err = ownErr
	}
	if a.err != nil {
		return nil
	}
	if a.completed != "" && j.in.Resume != job.ResumeRequire { // require resumes a run and never begins one
		a.lookAt(ctx, a.completed)
		if a.isFollowUp = a.err == nil && a.lookup.Run != nil && a.lookup.Run.Progress.Status == state.Completed; a.isFollowUp {
			return nil
		}
	}
	return a.log.end(cmp.Or(a.others, "nothing is started: no question of a run is open here"))
}

// expired returns an error if a question of the step's own key is open here but its checkpoint no
// longer exists.
func (a *answerEvent) expired(own string) error {
	for _, p := range a.posted {
		if p.IsOpen && p.Key == own && p.Workflow == a.job.event.Workflow {
			return &slots.Gone{Name: "the checkpoint of run " + p.Run}
		}
	}
	return nil
}

// lookAtOthers looks up the runs of other keys to which comments of this workflow file point here,
// newest first, until one is found.
func (a *answerEvent) lookAtOthers(ctx context.Context, own string) {
	seen := []string{own}
	for _, p := range a.posted {
		if p.Workflow == a.job.event.Workflow && !slices.Contains(seen, p.Key) && len(seen) <= otherKeys && !a.isFound() {
			seen = append(seen, p.Key)
			a.lookAt(ctx, p.Key)
		}
	}
}

// isFound reports whether the run that was looked up has an open question here, or was left to this
// step after its question was answered.
func (a *answerEvent) isFound() bool { return len(a.open) > 0 || a.isHanded }

// lookAt looks up the run of a key. Errors are collected in a.err.
func (a *answerEvent) lookAt(ctx context.Context, key string) {
	j := a.job
	a.lookup.Remove()
	var err error
	a.key, a.open, a.isHanded = key, nil, false
	if a.lookup, err = a.store.Look(ctx, store.Query{Key: key, Mode: a.mode()}); err != nil {
		a.err = errors.Join(a.err, err)
		return
	}
	m, run := a.lookup.Manifest, a.lookup.Run
	if m == nil {
		return
	}
	for _, agent := range run.OpenQuestions() {
		if a.isHere(agent.Waits.Question, m.Number) {
			a.open = append(a.open, agent)
		}
	}
	a.isHanded = a.isLeft()
	isOthers := key != j.key.Name && !mayResume(j, m)
	if isOthers && a.isFound() {
		a.others, a.open, a.isHanded = notResumable(a.log, m), nil, false
	}
	if a.next != "" && run.Progress.Status == state.Completed && !isOthers {
		a.completed = cmp.Or(a.completed, key)
	}
}

// isLeft reports whether an earlier job of this event, or an earlier attempt of this job, has taken
// the answer and left the run to this step.
func (a *answerEvent) isLeft() bool {
	l, j := a.lookup, a.job
	if !l.OnMachine {
		return l.OlderHere || l.InThisRun && (l.Manifest.Status != state.Completed || j.event.Attempt > 1)
	}
	return j.in.NamesJob && slices.ContainsFunc(l.Run.Agents, func(agent *state.Agent) bool {
		return agent.Waits != nil && agent.Waits.For == state.ForJob && slices.Contains(j.options.Jobs, agent.Waits.Job)
	})
}

// mode returns the input resume for a step that continues a run and never begins one.
func (a *answerEvent) mode() string {
	if in := a.job.in; in.Resume != job.ResumeAuto && in.Resume != job.ResumeNever {
		return in.Resume
	}
	return job.ResumeRequire
}

// isHere reports whether a question was posted on the issue of the event. number is the issue of
// the step that stored the run. The text of a comment proves nothing, so the comment must have the
// id that the run has recorded.
func (a *answerEvent) isHere(q *state.Question, number int) bool {
	here := a.job.event.Number
	switch {
	case q.Where != 0:
		return q.Where == here
	case q.Comment == 0:
		return number == here
	case number == here && len(a.posted) == 0:
		return true // the comments have not been read, and are not needed
	}
	return slices.ContainsFunc(a.posted, func(p ask.PostedQuestion) bool { return p.Comment == q.Comment })
}

// admits reports whether a sender who may not start the run may answer its question: the author of
// the issue, if the question allows it. An earlier job of this event has made this check already if
// it has left the run to this step.
func (a *answerEvent) admits(ctx context.Context, api *job.GitHub, e job.Event, denied *job.Denial) (bool, error) {
	if a == nil || denied.Who != e.Sender.Login {
		return false, nil
	}
	asks := func(agent *state.Agent) bool { return ask.AuthorMayAnswer(agent.Waits.Question) }
	if a.isHanded || !slices.ContainsFunc(a.open, asks) {
		return a.isHanded, nil
	}
	author, err := api.IssueAuthor(ctx, e.Number)
	if err != nil {
		return false, serviceFault("the author of the issue", err)
	}
	return ask.IsAuthor(author, e.Sender), nil
}

// decide returns the decision about the run that the comment answers, or that a new run follows.
// Contents that the checkpoint lacks prevent a follow-up run in the same way as a resume.
func (a *answerEvent) decide(ctx context.Context, note *postNote, w *workflow) (decision, error) {
	if a.err != nil {
		return decision{lookup: a.lookup}, a.err
	}
	if a.isFollowUp {
		left := *a.lookup.Manifest
		left.Status = state.Suspended
		d, err := decide(a.log, a.lookup, slots.Decide(&left, a.facts(nil)), follows)
		d.isAnswer = true
		return d, errors.Join(a.recordKey(note), err)
	}
	if err := a.claim(ctx, note); err != nil {
		return decision{lookup: a.lookup, lease: a.lease}, err
	}
	d, err := decide(a.log, a.lookup, slots.Decide(a.lookup.Manifest, a.facts(w)), resumes)
	d.lease, d.isAnswer = a.lease, true
	return d, err
}

// facts returns the facts for slots.Decide of a step that continues a run and never begins one.
func (a *answerEvent) facts(w *workflow) slots.Facts {
	facts := factsOf(a.job, a.lookup, w)
	facts.Mode = a.mode()
	if m := a.lookup.Manifest; m != nil {
		facts.Number = m.Number // an answer counts as an event of the run's own issue
	}
	return facts
}

// recordKey records for the post phase the key that this step may claim.
func (a *answerEvent) recordKey(note *postNote) error {
	return note.change(func(d *noteData) { d.Key, d.Answers = a.key, true })
}

// How long a step waits for a job that may be about to leave the run, the shortest and longest pause
// between two checks, and how long it waits for its claim.
const (
	leaveWait  = 6 * time.Minute // the last save of a job takes 5 minutes at most
	firstPause = 500 * time.Millisecond
	lastPause  = 20 * time.Second
	claimWait  = 10 * time.Second
)

// claim waits until it is clear which job takes the answer, and claims the key before the run is
// restored. If another job drives the run and an agent is at work, that job reads the answer, and
// this step ends. If all agents wait, the other job may be about to leave, and this step takes over
// the run once the other job has left. Another step that an answer started may hold the key.
func (a *answerEvent) claim(ctx context.Context, note *postNote) error {
	pause := firstPause
	for until := time.Now().Add(leaveWait); ; pause = min(2*pause, lastPause) {
		isLate := time.Now().After(until)
		isDriven := false
		if m := a.lookup.Manifest; m != nil && m.Status == state.Running {
			d := slots.Decide(m, a.facts(nil))
			isDriven = d.Action == slots.Refuse && d.Class == slots.ClassConflict
		}
		isAtWork := func(agent *state.Agent) bool { return agent.Status == state.Busy || agent.Status == state.Ready }
		switch {
		case isDriven && (isLate || slices.ContainsFunc(a.lookup.Run.Agents, isAtWork)):
			return a.log.end(fmt.Sprintf("nothing is started: another job drives the run with the key %s and will read this comment", a.key))
		case isDriven:
		default:
			if err := a.tryClaim(ctx, note); err != nil || a.lease != nil {
				return err
			}
			if isLate {
				return a.log.end("nothing is started: another job has claimed the run and will read this comment")
			}
		}
		if err := forge.Sleep(ctx, pause); err != nil {
			return err
		}
		if a.lookAt(ctx, a.key); a.err != nil {
			return a.err
		}
		if !a.isFound() {
			return a.log.end("nothing is started: another job has taken the answer")
		}
	}
}

// tryClaim claims the key. a.lease stays nil if another job has the key.
func (a *answerEvent) tryClaim(ctx context.Context, note *postNote) error {
	if err := a.recordKey(note); err != nil {
		return err
	}
	lease, err := a.store.Claim(a.job.key)
	if err != nil {
		return err
	}
	if lease.Wait(ctx, claimWait) != nil {
		return lease.Release(ctx)
	}
	a.lease = lease
	return nil
}

// reportReplyError posts a comment, once per question, with the reason why the run can't continue
// after an answer. It ignores failures of services, because a later try may succeed.
func (a *answerEvent) reportReplyError(ctx context.Context, j *Job, log *jobLog, err error) {
	if a == nil || isGreen(err) {
		return
	}
	_, isGone := errors.AsType[*slots.Gone](err)
	token, why := a.token(), problem.Flatten(err)[0]
	if token == "" || !isGone && (why.Class == problem.ClassStore || why.Class == problem.ClassRuntime) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	mark := ask.RejectionMark(token)
	place, err := ask.ReadOwnComments(ctx, j.api, j.event.Number, time.Time{})
	if err == nil && !place.Contains(mark) {
		_, err = j.api.CreateComment(ctx, j.event.Number, ask.RejectionBody(mark, log.shown(forJob(log, why).Error())))
	}
	if err != nil {
		log.Warn(commentWarning(j.event.Kind, err))
	}
}

// token returns the token of the question that the comment answers.
func (a *answerEvent) token() string {
	if len(a.open) > 0 {
		return a.open[0].Waits.Question.Token
	}
	for _, p := range a.posted {
		if p.Key == a.key || p.Key == a.job.key.Name {
			return p.Token
		}
	}
	return ""
}
