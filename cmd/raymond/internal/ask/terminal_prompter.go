package ask

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// TerminalPrompter passes on answers from flags and answers typed at a terminal. At the terminal it
// asks the questions of a run one at a time, in the order of their numbers. It implements
// runner.Prompter.
type TerminalPrompter struct {
	*queue
	at        *Terminal // nil if there is no terminal
	startOnce sync.Once // starts the goroutine that asks

	// The queue's mutex guards the fields below.
	open       []*question
	answered   map[int]bool // numbers of the questions that have an answer
	inputEnded bool         // the end of the input was reached, or there is no terminal
}

var _ runner.Prompter = (*TerminalPrompter)(nil)

// NewTerminalPrompter returns a TerminalPrompter. given are the answers from flags, as Match returns
// them. If at is nil, no questions are asked. The caller must call Close after the run has stopped.
func NewTerminalPrompter(given []runner.QuestionUpdate, at *Terminal) *TerminalPrompter {
	p := &TerminalPrompter{queue: newQueue(len(given)), at: at, inputEnded: at == nil, answered: map[int]bool{}}
	for _, u := range given {
		p.answered[u.Number] = true
		p.updates <- u
	}
	return p
}

// UpdateQuestions implements runner.Prompter.
func (p *TerminalPrompter) UpdateQuestions(run *state.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = openQuestions(run)
	p.rouse()
	if len(p.open) > 0 && p.at != nil {
		p.startOnce.Do(func() { go p.serve() })
	}
}

// HasRead implements runner.Prompter.
func (p *TerminalPrompter) HasRead(time.Time) bool { return len(p.updates) == 0 }

// IsSettled implements runner.Prompter.
func (p *TerminalPrompter) IsSettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inputEnded && len(p.updates) == 0
}

// Close makes the prompter stop asking. If it is waiting for input at that moment, the read continues
// until the process ends.
func (p *TerminalPrompter) Close() { p.stop() }

// serve asks questions until the input ends or Close is called.
func (p *TerminalPrompter) serve() {
	for q := p.next(); q != nil; q = p.next() {
		var b strings.Builder
		fmt.Fprintf(&b, "Question %d, from %s:\n", q.Number, q.agent)
		for line := range strings.Lines(text.Printable(p.at.hide(string(q.Text)))) {
			b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
		}
		if len(q.Choices) > 0 {
			b.WriteString("Choices: " + text.Escape(strings.Join(q.Choices, ", ")) + "\n")
		}
		if !q.until.IsZero() {
			fmt.Fprintf(&b, "If there is no answer by %s, %s comes next.\n", report.FormatMinute(q.until), q.TimeoutNext)
		}
		b.WriteString("Type the answer and press Enter. With \\ at the end of a line, the answer continues on the next one. Ctrl-D suspends the run.\n")
		_, _ = io.WriteString(p.at.out, b.String()) // after an error the user sees no question, and won't answer
		for isTaken := false; !isTaken; {
			answer, err := p.at.read()
			if err != nil {
				p.mu.Lock()
				p.inputEnded = true
				p.mu.Unlock()
				p.send(runner.QuestionUpdate{})
				return
			}
			isTaken = p.take(q, answer)
		}
	}
}

// next waits for an open question without an answer and returns it. It returns nil after Close.
func (p *TerminalPrompter) next() *question {
	for {
		p.mu.Lock()
		open := slices.DeleteFunc(slices.Clone(p.open), func(q *question) bool { return p.answered[q.Number] })
		p.mu.Unlock()
		if len(open) > 0 {
			return open[0]
		}
		select {
		case <-p.wake:
		case <-p.ctx.Done():
			return nil
		}
	}
}

// take sends the input to the owner as the answer to q. If q is no longer open, the input is ignored.
// take returns false if the input is empty or not one of the choices, so that q must be asked again.
func (p *TerminalPrompter) take(q *question, answer string) bool {
	p.mu.Lock()
	isOpen := slices.ContainsFunc(p.open, func(open *question) bool { return open.Number == q.Number })
	p.mu.Unlock()
	chosen, fits := q.MatchAnswer(answer)
	switch {
	case !isOpen:
		p.at.printLine("Question %d is no longer open.", q.Number)
		return true
	case !fits:
		p.at.printLine("That is not one of the choices. Try again.")
		return false
	case strings.TrimSpace(answer) == "":
		p.at.printLine("The answer is empty. Try again.")
		return false
	}
	p.mu.Lock()
	p.answered[q.Number] = true
	p.mu.Unlock()
	p.send(runner.QuestionUpdate{Agent: q.agent, Number: q.Number, Answer: &state.Answer{Text: chosen, By: answeredBy}})
	return true
}

// Terminal shows questions to a user and reads the answers that the user types.
type Terminal struct {
	in   *bufio.Reader
	out  io.Writer
	hide func(string) string
}

// NewTerminal returns a Terminal that reads input from in and writes questions to out. hide
// replaces secrets in questions.
func NewTerminal(in io.Reader, out io.Writer, hide func(string) string) *Terminal {
	return &Terminal{in: bufio.NewReader(in), out: out, hide: hide}
}

// printLine writes a formatted line.
func (t *Terminal) printLine(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// read reads an answer. After each line that ends with a backslash, the answer continues on the next
// line. At the end of the input, read returns an error.
func (t *Terminal) read() (string, error) {
	var lines []string
	for {
		line, err := t.in.ReadString('\n')
		if err != nil {
			return "", err
		}
		line, more := strings.CutSuffix(withoutBreak(line), `\`)
		if lines = append(lines, line); !more {
			return strings.Join(lines, "\n"), nil
		}
	}
}
