package action

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/ask"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// asking asks people the questions of a run while it is driven. It implements runner.Prompter and
// report.Reporter.
type asking struct {
	*ask.CommentPrompter
	periodic *periodic // stores the run; nil with store: local, where every step is saved on this machine
}

// startAsking prepares to ask the run's questions. It returns nil if the step can't ask: without a
// token, or if no later job could resume the run.
func startAsking(s *step, b *readyRun) *asking {
	isPart := s.part() != nil // the step that joins the parts asks, so that no two parts use the same question number
	if isPart || s.in.GitHubToken == "" || s.event.IsFromFork() || b.to == nil && !s.in.IsLocal() {
		return nil
	}
	return &asking{CommentPrompter: ask.NewCommentPrompter(askOptions(s, b.flow.Workflow, b.lookup, b.run), b.run)}
}

// askOptions returns how and where to ask the questions of a run. l is the lookup that found the
// run.
func askOptions(s *step, w *protocol.Workflow, l lookup, run *state.Run) ask.Options {
	days := time.Duration(s.in.RetentionDays) * 24 * time.Hour
	if s.in.IsLocal() { // local runs never expire
		days = 0
	}
	earlier, _ := lastPart(l)
	return ask.Options{
		API: s.api, Prefix: s.in.AnswerPrefix, Number: cmp.Or(s.event.Number, earlier.Number), EarlierNumber: earlier.Number,
		Ref: ask.QuestionRef{Workflow: s.event.Workflow, Key: s.key, Run: run.WorkflowID},
		AuthorizeAnswer: func(ctx context.Context, who job.Account) *job.Denial {
			return job.AuthorizeAnswer(ctx, s.in.Rules, who, s.api)
		},
		IsPrompt: func(name string) bool { st, ok := w.State(name); return ok && st.Kind == protocol.Prompt },
		Redact:   s.log.shown, Warn: s.log.warn, Link: runLink(s.event, "Asked in"), IsLocal: s.in.IsLocal(),
		Retention: days,
	}
}

// hasAnswers reports whether a question of a suspended run has an answer, or whether a question
// must still be posted.
func hasAnswers(ctx context.Context, s *step, f *flow, l lookup) bool {
	if len(l.was.OpenQuestions()) == 0 || s.in.GitHubToken == "" {
		return false
	}
	log := s.dirs.events(l.was.WorkflowID)
	if l.isStored() {
		log = filepath.Join(l.found.Dir, session.EventsFile)
	}
	m := report.NewLiveModel()
	err := m.AddAll(report.Events(log))
	o := askOptions(s, f.Workflow, l, l.was)
	o.Questions = m.Questions()
	return err != nil || ask.HasPendingWork(ctx, o, l.was)
}

// join makes the run ask its questions through a. A nil a asks no questions.
func (a *asking) join(u *session.Setup) {
	if a == nil {
		return
	}
	u.Config.Prompter = a
	if p, ok := u.Config.Checkpoints.(*periodic); ok {
		p.asks, a.periodic = a, p
	}
}

// listen subscribes a to the run's events, by which it learns which checkpoints are stored.
func (a *asking) listen(events *report.Fanout) {
	if a != nil {
		a.UseModel(events.Model)
		events.Add("questions", a)
	}
}

var _ runner.Prompter = (*asking)(nil)

// UpdateQuestions implements runner.Prompter. It asks nothing if the run could not be resumed,
// because the run is about to fail.
func (a *asking) UpdateQuestions(run *state.Run) {
	if a.periodic != nil && !a.HasOpenQuestions() && a.periodic.CheckResumable(run.OpenQuestions()) != nil {
		return
	}
	a.CommentPrompter.UpdateQuestions(run)
}

// Tick is called about once a second.
func (a *asking) Tick(now time.Time) error {
	if a.periodic != nil {
		a.periodic.again()
	}
	return a.CommentPrompter.Tick(now)
}

// finish ends the asking within the time limit. It must be called after the end of the run is
// stored; isStored is true if this succeeded.
func (a *asking) finish(ctx context.Context, limit time.Duration, isSuspended, isStored bool) error {
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := a.CommentPrompter.Finish(ctx, isSuspended && isStored)
	if err == nil || !isSuspended {
		return nil
	}
	return &problem.Problem{
		Class: problem.ClassStore, Where: "answers", What: "could not check for answers: " + err.Error(),
		Hint: "the run is stored; run the job again to read the answers",
	}
}
