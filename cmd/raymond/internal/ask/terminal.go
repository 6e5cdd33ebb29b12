package ask

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner/report"
)

// Terminal is where somebody reads questions and types answers.
type Terminal struct {
	in   *bufio.Reader
	out  io.Writer
	hide func(string) string
}

// NewTerminal returns a Terminal that reads what is typed from in, and writes questions to
// out. hide replaces secrets in them.
func NewTerminal(in io.Reader, out io.Writer, hide func(string) string) *Terminal {
	return &Terminal{in: bufio.NewReader(in), out: out, hide: hide}
}

// show writes a question.
func (t *Terminal) show(q *question) {
	var b strings.Builder
	fmt.Fprintf(&b, "Question %d, from %s:\n", q.Number, q.agent)
	for line := range strings.Lines(text.Printable(t.hide(string(q.Text)))) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	if len(q.Choices) > 0 {
		b.WriteString("Choices: " + text.Escaped(strings.Join(q.Choices, ", ")) + "\n")
	}
	if !q.until.IsZero() {
		fmt.Fprintf(&b, "Without an answer until %s, %s comes next.\n", report.Minute(q.until), q.TimeoutNext)
	}
	b.WriteString("Type the answer and press Enter. With \\ at the end of a line, the answer continues on the next one. Ctrl-D suspends the run.\n")
	_, _ = io.WriteString(t.out, b.String()) // who can't read it doesn't answer
}

// say writes a line.
func (t *Terminal) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// read reads an answer: a line, and the next one too when it ends with a backslash. An
// error says that nothing more is typed.
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
