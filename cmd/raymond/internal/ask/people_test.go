package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

const (
	token = "0123456789abcdef0123456789abcdef"
	us    = "robot[bot]"
)

// place is a Forum of one issue, whose requests may go wrong.
type place struct {
	said  []job.Remark
	asked int
	// wrong is what becomes of a request, by its number from 1: "" for nothing special,
	// "refused" when it is not carried out, "lost" when its answer is not heard of.
	wrong func(n int) string
	kill  context.CancelFunc // called after each request that goes wrong; nil for none
	hangs bool               // no request is answered, nor carried out
}

func (f *place) request(carryOut func()) error {
	f.asked++
	if f.hangs {
		time.Sleep(10 * time.Second) // as forge.Once has it
		return &forge.Error{Err: errors.New("no answer")}
	}
	how := ""
	if f.wrong != nil {
		how = f.wrong(f.asked)
	}
	if how != "refused" {
		carryOut()
	}
	if how == "" {
		return nil
	}
	if f.kill != nil {
		f.kill()
	}
	return &forge.Error{Err: errors.New(how)}
}

func (f *place) Remarks(context.Context, int, time.Time) (list []job.Remark, err error) {
	err = f.request(func() { list = slices.Clone(f.said) })
	return list, err
}

func (f *place) Remark(_ context.Context, r job.Remark) (found job.Remark, err error) {
	err = f.request(func() {
		found = f.said[slices.IndexFunc(f.said, func(x job.Remark) bool { return x.Name() == r.Name() })]
	})
	return found, err
}

func (f *place) Say(_ context.Context, _ int, body string) (made job.Remark, err error) {
	err = f.request(func() { made = f.add(us, body) })
	return made, err
}

func (f *place) Edit(_ context.Context, id int64, body string) error {
	return f.request(func() { f.said[id-1].Body = body })
}

func (f *place) Self(context.Context) (string, error) { return us, f.request(func() {}) }

func (f *place) Author(context.Context, int) (job.Account, error) {
	return job.Account{Login: "opener", Type: "User"}, f.request(func() {})
}

func (f *place) add(who, body string) job.Remark {
	r := job.Remark{Kind: job.OnIssue, ID: int64(len(f.said) + 1), Number: 7, Author: job.Account{Login: who}, Body: body, Created: time.Now()}
	f.said = append(f.said, r)
	return r
}

// posted counts the comments with the question.
func (f *place) posted() int {
	n := 0
	for _, r := range f.said {
		if strings.HasPrefix(r.Body, questionMark+token) {
			n++
		}
	}
	return n
}

// asks is a run whose agent waits for an answer.
func asks(q state.Question) *state.Run {
	if q.Token == "" {
		q.Number, q.Text, q.Token = 1, "What?", token
	}
	return &state.Run{WorkflowID: "w-12345678", Progress: state.Progress{Seq: 5, Status: state.Running, Questions: q.Number}, Agents: []*state.Agent{{
		ID: "main", State: "NEXT.sh", Status: state.Waiting, Waits: &state.Waits{For: state.ForAnswer, Since: time.Now(), Question: &q},
	}}}
}

// onIssue are for a run whose questions are asked on issue 7, where ann may answer.
func onIssue(f *place) Options {
	return Options{
		Forum: f, Prefix: "/raymond", Number: 7, Pointer: Pointer{Workflow: "w.yml", Key: "k", Run: "w-12345678"},
		MayAnswer: func(_ context.Context, who job.Account) *job.Denied {
			if who.Login == "ann" {
				return nil
			}
			return &job.Denied{Who: who.Login, Why: "has the permission \"read\""}
		},
		IsPrompt: func(string) bool { return false }, Shown: func(s string) string { return s }, Tell: func(string) {},
	}
}

// drive is an owner of a run, in one process: it stores each step, and ends when all is
// settled, when the answer is there, or when it is killed. It returns the answer.
func drive(ctx context.Context, f *place, run *state.Run, begun *state.Run) (answer string, err error) {
	p := New(onIssue(f), begun)
	q := run.Agents[0].Waits.Question
	open := func() {
		p.Open(run)
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

// copied is a run as a checkpoint has it.
func copied(run *state.Run) *state.Run {
	c := *run
	a := *run.Agents[0]
	w := *a.Waits
	q := *w.Question
	w.Question, a.Waits, c.Agents = &q, &w, []*state.Agent{&a}
	return &c
}

// TestOneQuestionAndOneAnswer, whichever request fails, gets lost, or is the last one of
// its process: a later process, which has the state before the comment, neither asks again
// nor misses the answer.
func TestOneQuestionAndOneAnswer(t *testing.T) {
	for _, how := range []string{"refused", "lost"} {
		for _, isKilled := range []bool{false, true} {
			for n := 1; n <= 12; n++ {
				t.Run(fmt.Sprintf("%s %d, killed %t", how, n, isKilled), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, kill := context.WithCancel(t.Context())
						defer kill()
						f := &place{wrong: func(at int) string {
							if at == n {
								return how
							}
							return ""
						}}
						if isKilled {
							f.kill = kill
						}
						run := asks(state.Question{})
						stored := copied(run)
						_, _ = drive(ctx, f, run, &state.Run{})
						f.kill = nil
						f.add("eve", "/raymond not me")
						f.add("ann", "/raymond the answer")
						f.add("ann", "/raymond too late")
						time.Sleep(time.Minute)
						again := copied(stored)
						answer, err := drive(t.Context(), f, again, copied(stored))
						if f.posted() != 1 || answer != "the answer" && f.said[0].Body[:5] == "<!-- " {
							t.Errorf("got %d questions, the answer %q, %v; want one question and the answer\n%+v", f.posted(), answer, err, f.said)
						}
					})
				})
			}
		}
	}
}

// TestNothingIsPostedBeforeItsTokenIsStored, and a run that can't be stored is not held up.
func TestNothingIsPostedBeforeItsTokenIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &place{}
		p := New(onIssue(f), &state.Run{})
		run := asks(state.Question{})
		p.Open(run)
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
		if f.posted() != 0 || p.NeedsCheckpoint() {
			t.Errorf("when nothing can be stored: got %d questions, want none", f.posted())
		}
		if err := p.Finish(t.Context(), true); err != nil || f.posted() != 1 {
			t.Errorf("when the end is stored: got %d questions, %v; want one", f.posted(), err)
		}
	})
}

// TestAForgeThatHangs holds a run up for minutes, not for ever, and the step knows that it
// doesn't know.
func TestAForgeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &place{}
		run := asks(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1})
		f.add(us, questionMark+token+" e30 -->")
		f.add("ann", "/raymond yes")
		f.hangs = true
		began := time.Now()
		answer, err := drive(t.Context(), f, run, copied(run))
		if took := time.Since(began); answer != "" || err == nil || took > 5*time.Minute {
			t.Errorf("got %q, %v after %v; want an error within minutes", answer, err, took)
		}
		f.hangs = false
		if answer, err := drive(t.Context(), f, run, copied(run)); answer != "yes" || err != nil {
			t.Errorf("later: got %q, %v; want the answer", answer, err)
		}
	})
}

// TestWhatWasSaidBefore a question is no answer to it.
func TestWhatWasSaidBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &place{}
		run := asks(state.Question{Number: 2, Text: "What?", Token: token, Comment: 2})
		f.add("ann", "/raymond early")
		f.add(us, questionMark+token+" e30 -->")
		if answer, err := drive(t.Context(), f, run, copied(run)); answer != "" || err != nil {
			t.Errorf("got %q, %v; want no answer", answer, err)
		}
		f.add("ann", "/raymond late")
		if answer, err := drive(t.Context(), f, run, copied(run)); answer != "late" || err != nil {
			t.Errorf("got %q, %v; want the later one", answer, err)
		}
	})
}

// TestWhoAnswers: a question may be for some, and only an untrusted one for whoever has
// opened the issue.
func TestWhoAnswers(t *testing.T) {
	for _, test := range []struct {
		who       string
		from      []string
		untrusted bool
		want      string
	}{
		{"ann", nil, false, "x"}, {"ann", []string{"bob", "Ann"}, false, "x"}, {"ann", []string{"bob"}, false, ""},
		{"eve", []string{"eve"}, false, ""}, {"opener", []string{"author"}, false, ""}, {"opener", []string{"author"}, true, "x"},
		{"opener", []string{"bob"}, true, ""}, {"opener", nil, true, ""}, {"eve", []string{"author"}, true, ""}, {us, nil, false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &place{}
			run := asks(state.Question{Number: 1, Text: "What?", Token: token, Comment: 1, From: test.from, Untrusted: test.untrusted})
			f.add(us, questionMark+token+" e30 -->")
			f.add(test.who, "/raymond x")
			if answer, err := drive(t.Context(), f, run, copied(run)); answer != test.want || err != nil {
				t.Errorf("%+v: got %q, %v; want %q", test, answer, err, test.want)
			}
		})
	}
}

// TestTheCommentNamesTheStatesThatMayFollow: who answers knows what an answer leads to.
func TestTheCommentNamesTheStatesThatMayFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &place{}
		run := asks(state.Question{Number: 1, Text: "What?", Token: token, TimeoutNext: "LATE.md"})
		run.Agents[0].Waits.Until = time.Now().Add(time.Hour)
		if _, err := drive(t.Context(), f, run, &state.Run{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"\nThe state `NEXT.sh` follows.\n", "; then `LATE.md` follows."} {
			if !strings.Contains(f.said[0].Body, want) {
				t.Errorf("got %q, want %q in it", f.said[0].Body, want)
			}
		}
	})
}
