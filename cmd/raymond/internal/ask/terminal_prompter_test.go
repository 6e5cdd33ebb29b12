package ask

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// screen is an io.Writer that collects the output of several goroutines.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// since waits until all goroutines are blocked, and returns the output since the previous call.
func (s *screen) since() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.buf.Reset()
	return s.buf.String()
}

// seat is a fake terminal with a TerminalPrompter that asks the questions of a run there.
type seat struct {
	*testing.T
	*TerminalPrompter
	keys   *io.PipeWriter
	screen screen
}

// atTerminal runs a test with a fake terminal and a fake clock.
func atTerminal(t *testing.T, test func(s *seat)) {
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		s := &seat{T: t, keys: keys}
		s.TerminalPrompter = NewTerminalPrompter(nil, NewTerminal(in, &s.screen, func(text string) string { return strings.ReplaceAll(text, "secret", "***") }))
		test(s)
		s.Close()
		keys.Close() // ends a pending read, like the end of the process
	})
}

// types simulates input at the terminal, and waits until all goroutines are blocked.
func (s *seat) types(text string) {
	go func() { _, _ = io.WriteString(s.keys, text) }()
	synctest.Wait()
}

// got returns the pending update as text. It returns "" if no update is pending.
func (s *seat) got() string {
	synctest.Wait()
	select {
	case u := <-s.Updates():
		if u.Answer == nil {
			return "no more input"
		}
		return u.Agent + ": " + u.Answer.Text
	default:
		return ""
	}
}

func (s *seat) want(what, got, want string) {
	s.Helper()
	assert.Check(s, is.Equal(got, want), what)
}

const help = "Type the answer and press Enter. With \\ at the end of a line, the answer continues on the next one. Ctrl-D suspends the run.\n"

// TestQuestionsAreAskedInTurn checks that questions are asked in the order of their numbers, each until
// it is answered.
func TestQuestionsAreAskedInTurn(t *testing.T) {
	atTerminal(t, func(s *seat) {
		run := runWithQuestions("main", "main_chooser")
		run.Agents[0].Waits.Question.Text = "first\x1b[31m\nsecret line"
		run.Agents[0].Waits.Until, run.Agents[0].Waits.Question.TimeoutNext = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "LATE.md"
		s.UpdateQuestions(run)
		s.want("first", s.screen.since(), "Question 1, from main:\n    first\n    *** line\n"+
			"If there is no answer by 2026-01-02 03:04 UTC, LATE.md comes next.\n"+help)
		if s.IsSettled() {
			s.Error("settled: got true while a question is open, want false")
		}
		s.types(" \r\n")
		s.want("blanks", s.got(), "")
		s.types("one\\\r\n \\two\\\n")
		s.want("half an answer", s.got(), "")
		s.types("\n")
		s.want("answer of several lines", s.got(), "main: one\n \\two\n")
		s.want("second", s.screen.since(), "The answer is empty. Try again.\nQuestion 2, from main_chooser:\n    What now?\nChoices: Yes, No\n"+help)
		run.Agents = run.Agents[1:]
		s.UpdateQuestions(run)
		s.types("maybe\n")
		s.want("no choice", s.got(), "")
		s.want("another try", s.screen.since(), "That is not one of the choices. Try again.\n")
		s.types("YES \n")
		s.want("a choice", s.got(), "main_chooser: Yes")
		s.UpdateQuestions(&state.Run{})
		s.want("at the end", s.screen.since(), "")
	})
}

// TestEndOfInputEndsTheQuestions checks that the prompter asks no further questions after Ctrl-D, so that
// the run can be suspended.
func TestEndOfInputEndsTheQuestions(t *testing.T) {
	atTerminal(t, func(s *seat) {
		s.UpdateQuestions(runWithQuestions("main", "other"))
		s.types("not the whole line")
		s.keys.Close()
		s.want("after the end of input", s.got(), "no more input")
		if s.screen.since(); !s.IsSettled() {
			s.Error("settled: got false, want true")
		}
		s.UpdateQuestions(runWithQuestions("main", "other", "third"))
		s.want("later", s.screen.since(), "")
	})
}

// TestAnswerIsForTheDisplayedQuestion checks that an answer that is typed after its question was closed
// is not used for another question.
func TestAnswerIsForTheDisplayedQuestion(t *testing.T) {
	atTerminal(t, func(s *seat) {
		run := runWithQuestions("main", "other")
		s.UpdateQuestions(run)
		s.screen.since()
		run.Agents = run.Agents[1:]
		s.UpdateQuestions(run)
		s.types("of the first\n")
		s.want("late answer", s.got(), "")
		s.want("next", s.screen.since(), "Question 1 is no longer open.\nQuestion 2, from other:\n    What now?\n"+help)
		s.types("of the second\n")
		s.want("answer", s.got(), "other: of the second")
	})
}

// TestFlagAnswersComeFirst checks that answers from flags are sent with or without a terminal, and that
// the terminal doesn't ask these questions again.
func TestFlagAnswersComeFirst(t *testing.T) {
	updates := []runner.QuestionUpdate{{Agent: "main", Number: 1, Answer: &state.Answer{Text: "x"}}}
	synctest.Test(t, func(t *testing.T) {
		var shown screen
		p := NewTerminalPrompter(updates, NewTerminal(strings.NewReader(""), &shown, strings.ToLower))
		p.UpdateQuestions(runWithQuestions("main"))
		assert.Check(t, is.Equal(shown.since(), ""), "what is on the terminal")
		p.Close()
	})
	p := NewTerminalPrompter(updates, nil)
	p.UpdateQuestions(runWithQuestions("main"))
	if p.IsSettled() || p.HasRead(time.Time{}) {
		t.Errorf("with an answer to bring: got settled %v and has read %v, want neither", p.IsSettled(), p.HasRead(time.Time{}))
	}
	assert.Check(t, is.Equal(<-p.Updates(), updates[0]))
	if !p.IsSettled() || !p.HasRead(time.Time{}) {
		t.Errorf("with nothing to bring: got settled %v and has read %v, want both", p.IsSettled(), p.HasRead(time.Time{}))
	}
}
