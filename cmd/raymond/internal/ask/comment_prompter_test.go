package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

const token = "0123456789abcdef0123456789abcdef"

// posted returns the number of comments that ask the question with token.
func (s *service) posted() int {
	return len(slices.DeleteFunc(slices.Clone(s.all), func(r job.Comment) bool { return !strings.HasPrefix(r.Body, questionMark+token) }))
}

// runWithQuestion returns a run whose only agent waits for an answer to q. If q has no token, a default
// question is used.
func runWithQuestion(q state.Question) *state.Run {
	if q.Token == "" {
		q.Number, q.Text, q.Token = 1, "What?", token
	}
	return &state.Run{WorkflowID: "w-12345678", Progress: state.Progress{Seq: 5, Status: state.Running, Questions: q.Number}, Agents: []*state.Agent{{
		ID: "main", State: "NEXT.sh", Status: state.Waiting, Waits: &state.WaitCondition{For: state.ForAnswer, Since: time.Now(), Question: &q},
	}}}
}

// onIssue returns options for a run that asks on issue 7. Only ann may answer.
func onIssue(f *service) Options {
	return Options{
		API: f, Prefix: "/raymond", Number: 7, Ref: QuestionRef{Workflow: "w.yml", Key: "k", Run: "w-12345678"},
		AuthorizeAnswer: func(_ context.Context, who job.Account) *job.Denial {
			if who.Login == "ann" {
				return nil
			}
			return &job.Denial{Who: who.Login, Why: "has the permission \"read\""}
		},
		IsPrompt: func(string) bool { return false }, Redact: func(s string) string { return s }, Warn: func(string) {},
	}
}

// drive acts as the owner of a run in one process: it stores each step, and applies updates. It
// returns when everything is settled, when the answer has arrived, or when ctx ends. It returns the
// answer.
func drive(ctx context.Context, f *service, run *state.Run, begun *state.Run) (answer string, err error) {
	p := NewCommentPrompter(onIssue(f), begun)
	q := run.Agents[0].Waits.Question
	open := func() {
		p.UpdateQuestions(run)
		_ = p.Report(state.Event{Body: &state.Checkpoint{SeqStored: run.Progress.Seq}})
	}
	for open(); answer == "" && !p.IsSettled(); {
		select {
		case u := <-p.Updates():
			if u.Comment != 0 {
				q.Comment = u.Comment
			}
			if u.Answer != nil {
				answer, run.Agents[0].Waits, run.Agents[0].Status = u.Answer.Text, nil, state.Ready
			}
			if u.Agent != "" {
				run.Progress.Seq++
				open()
			}
		case <-ctx.Done():
			_ = p.Finish(ctx, false)
			return answer, ctx.Err()
		}
	}
	finish, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return answer, p.Finish(finish, true)
}

// copyRun returns a deep copy of a run, which tests use like a stored checkpoint.
func copyRun(run *state.Run) *state.Run {
	c := *run
	a := *run.Agents[0]
	w := *a.Waits
	q := *w.Question
	w.Question, a.Waits, c.Agents = &q, &w, []*state.Agent{&a}
	return &c
}

// TestOneQuestionAndOneAnswer checks that exactly one question is posted and that its answer is found,
// whichever request fails, gets no response, or is the last request before its process ends. A later
// process then continues the run from the state before the comment was posted.
func TestOneQuestionAndOneAnswer(t *testing.T) {
	for _, how := range []string{"refused", "lost"} {
		for _, isKilled := range []bool{false, true} {
			for n := 1; n <= 12; n++ {
				t.Run(fmt.Sprintf("%s %d, killed %t", how, n, isKilled), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, kill := context.WithCancel(t.Context())
						defer kill()
						f := &service{self: ours}
						f.fate = func(string) fate {
							if len(f.requests) != n {
								return fate{}
							}
							if isKilled {
								kill()
							}
							return fate{err: &forge.Error{Op: how}, done: how == "lost"}
						}
						run := runWithQuestion(state.Question{})
						stored := copyRun(run)
						_, _ = drive(ctx, f, run, &state.Run{})
						f.add("eve", "/raymond not me")
						f.add("ann", "/raymond the answer")
						f.add("ann", "/raymond too late")
						time.Sleep(time.Minute)
						again := copyRun(stored)
						answer, err := drive(t.Context(), f, again, copyRun(stored))
						if f.posted() != 1 || answer != "the answer" && f.all[0].Body[:5] == "<!-- " {
							t.Errorf("got %d questions, the answer %q, %v; want one question and the answer\n%+v", f.posted(), answer, err, f.all)
						}
					})
				})
			}
		}
	}
}

// TestQuestionIsPostedAfterItsTokenIsStored checks that a question is posted only after its token is
// stored. A run that can't be stored must not wait for that.
func TestQuestionIsPostedAfterItsTokenIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		p := NewCommentPrompter(onIssue(f), &state.Run{})
		run := runWithQuestion(state.Question{})
		p.UpdateQuestions(run)
		_ = p.Report(state.Event{Body: &state.Checkpoint{SeqStored: 4}})
		time.Sleep(time.Minute)
		if f.posted() != 0 || !p.NeedsCheckpoint() || p.IsSettled() {
			t.Errorf("before the token is stored: got %d questions, needs a checkpoint %t, settled %t; want 0, true, false", f.posted(), p.NeedsCheckpoint(), p.IsSettled())
		}
		for range maxUnstored {
			_ = p.Report(state.Event{Body: &state.Checkpoint{Error: "no service"}})
		}
		synctest.Wait()
		for !p.IsSettled() {
			<-p.Updates()
		}
		assert.Check(t, f.posted() == 0 && !p.NeedsCheckpoint(), "when nothing can be stored: got %d questions, want none", f.posted())
		if err := p.Finish(t.Context(), true); err != nil || f.posted() != 1 {
			t.Errorf("when the end is stored: got %d questions, %v; want one", f.posted(), err)
		}
	})
}

// TestOwnerGetsOnlyUpdatesItWaitsFor checks that the prompter sends no needless updates. Each update
// makes the owner take a step, after which answers are read once more.
func TestOwnerGetsOnlyUpdatesItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours, fate: func(string) fate { return fate{takes: 100 * time.Millisecond} }}
		p := NewCommentPrompter(onIssue(f), &state.Run{})
		run, updates := runWithQuestion(state.Question{}), 0
		step := func() {
			time.Sleep(10 * time.Millisecond) // the time that it takes to save the step
			p.UpdateQuestions(run)
			stored := state.Event{Body: &state.Checkpoint{SeqStored: run.Progress.Seq}}
			time.AfterFunc(10*time.Second, func() { _ = p.Report(stored) })
		}
		for isOver := false; !isOver; isOver = p.IsSettled() { // like the owner, call IsSettled before the checkpoint is reported
			step()
			run.Agents[0].Waits.Question.Comment = cmp.Or((<-p.Updates()).Comment, run.Agents[0].Waits.Question.Comment)
			run.Progress.Seq++
			updates++
		}
		if updates != 2 || len(f.requests) > 12 {
			t.Errorf("got %d updates after %d requests, want one for the comment and one when all is settled: %q", updates, len(f.requests), f.requests)
		}
		_ = p.Finish(t.Context(), true)
	})
}

// TestFrequentQuestionsDelayNoAnswers checks that answers are read even if agents ask new questions all
// the time.
func TestFrequentQuestionsDelayNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		p := NewCommentPrompter(onIssue(f), &state.Run{})
		run, answer := runWithQuestion(state.Question{}), ""
		for n := 1; n < 6; n++ { // every 40 s, an agent asks a question
			if n > 1 {
				more := runWithQuestion(state.Question{Number: n, Text: "And?", Token: fmt.Sprintf("%032d", n)}).Agents[0]
				more.ID = fmt.Sprintf("main_a%d", n)
				run.Agents = append(run.Agents, more)
			}
			p.UpdateQuestions(run)
			_ = p.Report(state.Event{Body: &state.Checkpoint{SeqStored: run.Progress.Seq}})
			if n == 2 {
				f.add("ann", "/raymond 1 yes")
			}
			for range 40 {
				time.Sleep(time.Second)
				_ = p.Tick(time.Now())
			}
			for len(p.Updates()) > 0 {
				if u := <-p.Updates(); u.Answer != nil {
					answer = u.Answer.Text
				}
			}
			run.Progress.Seq++
		}
		assert.Check(t, is.Contains(answer, "yes"))
		_ = p.Finish(t.Context(), true)
	})
}

// TestHangingForgeDelaysForMinutes checks that a forge that doesn't respond delays a run for a few
// minutes only. Finish then returns an error, because there may be answers that could not be read.
func TestHangingForgeDelaysForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		run := runWithQuestion(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1})
		f.add(ours, questionMark+token+" e30 -->")
		f.add("ann", "/raymond yes")
		f.fate = func(string) fate { return fate{takes: 10 * time.Second, err: &forge.Error{Op: "no answer"}} } // the time limit of forge.Once
		began := time.Now()
		answer, err := drive(t.Context(), f, run, copyRun(run))
		if took := time.Since(began); answer != "" || err == nil || took > 5*time.Minute {
			t.Errorf("got %q, %v after %v; want an error within minutes", answer, err, took)
		}
		f.fate = nil
		if answer, err := drive(t.Context(), f, run, copyRun(run)); answer != "yes" || err != nil {
			t.Errorf("later: got %q, %v; want the answer", answer, err)
		}
	})
}

// TestWhoMayAnswer checks that a question may be restricted to some accounts, and that the author of the
// issue may answer only an untrusted question.
func TestWhoMayAnswer(t *testing.T) {
	for _, test := range []struct {
		who       string
		from      []string
		untrusted bool
		want      string
	}{
		{"ann", nil, false, "x"}, {"ann", []string{"bob", "Ann"}, false, "x"}, {"ann", []string{"bob"}, false, ""},
		{"eve", []string{"eve"}, false, ""}, {"opener", []string{"author"}, false, ""}, {"opener", []string{"author"}, true, "x"},
		{"opener", []string{"bob"}, true, ""}, {"opener", nil, true, ""}, {"eve", []string{"author"}, true, ""}, {ours, nil, false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &service{self: ours}
			run := runWithQuestion(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1, From: test.from, Untrusted: test.untrusted})
			f.add(ours, questionMark+token+" e30 -->")
			f.add(test.who, "/raymond x")
			answer, err := drive(t.Context(), f, run, copyRun(run))
			if isShown := strings.Contains(f.all[0].Body, "\n`"+test.who+"` has answered.\n"+answeredMark); answer != test.want || err != nil || isShown != (answer != "") {
				t.Errorf("%+v: got %q, %v shown %t; want %q", test, answer, err, isShown, test.want)
			}
		})
	}
}

// TestCommentNamesTheNextStates checks that the comment with a question names the states that follow an
// answer and a timeout.
func TestCommentNamesTheNextStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		run := runWithQuestion(state.Question{Number: 1, Text: "What?", Token: token, TimeoutNext: "LATE.md"})
		run.Agents[0].Waits.Until = time.Now().Add(time.Hour)
		_, err := drive(t.Context(), f, run, &state.Run{})
		assert.NilError(t, err)
		for _, want := range []string{"\nThe state `NEXT.sh` follows.\n", "; then `LATE.md` follows."} {
			assert.Check(t, is.Contains(f.all[0].Body, want))
		}
	})
}

// TestWrongChoiceGetsOneReply checks that an answer that is not one of the choices gets only one reply,
// even if it is read twice, and that the question stays open.
func TestWrongChoiceGetsOneReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		run := runWithQuestion(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1, Choices: []string{"yes", "no"}})
		f.add(ours, questionMark+token+" e30 -->")
		f.add("ann", "/raymond perhaps")
		for range 2 {
			if answer, err := drive(t.Context(), f, run, copyRun(run)); answer != "" || err != nil {
				t.Errorf("got %q, %v; want no answer", answer, err)
			}
		}
		if len(f.all) != 3 || !strings.Contains(f.all[2].Body, "`ann`") || !strings.Contains(f.all[2].Body, "`/raymond yes`") {
			t.Errorf("comments: got %+v, want one reply with the choices", f.all)
		}
		f.add("ann", "/raymond YES")
		if answer, err := drive(t.Context(), f, run, copyRun(run)); answer != "yes" || err != nil {
			t.Errorf("got %q, %v; want the choice as the question spells it", answer, err)
		}
	})
}

// TestAmbiguousAnswerGetsReply checks that an answer that could be for two questions gets a reply that
// lists both.
func TestAmbiguousAnswerGetsReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		run := runWithQuestion(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1})
		run.Agents = append(run.Agents, runWithQuestion(state.Question{Number: 2, Text: "Who?", Token: "other", Comment: 2}).Agents...)
		f.add(ours, questionMark+token+" e30 -->")
		f.add(ours, questionMark+"other e30 -->")
		f.add("ann", "/raymond yes")
		if answer, err := drive(t.Context(), f, run, run); answer != "" || err != nil || len(f.all) != 4 || !strings.Contains(f.all[3].Body, "- `/raymond 2 …`: `Who?`") {
			t.Errorf("got %q, %v; want a reply that names both questions\n%+v", answer, err, f.all)
		}
	})
}

// TestLineCommentIncludesItsLine checks that an answer in a line comment includes the file, the line and
// the diff hunk before the line.
func TestLineCommentIncludesItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &service{self: ours}
		run := runWithQuestion(state.Question{Number: 1, Text: "How?", Token: token, Comment: 1})
		f.add(ours, questionMark+token+" e30 -->")
		f.add("ann", "/raymond shorter, <!-- hidden -->please")
		said := &f.all[1]
		said.Kind, said.File, said.Line, said.Hunk = job.LineComment, "a.go", 12, "@@ -1 +1 @@\n+x <!--"
		want := "File a.go, line 12:\n\n```diff\n@@ -1 +1 @@\n+x\n```\n\nshorter, please"
		if answer, err := drive(t.Context(), f, run, copyRun(run)); answer != want || err != nil {
			t.Errorf("got %q, %v; want %q", answer, err, want)
		}
	})
}
