package ask

import (
	"bufio"
	"fmt"
	"io"
	"strings"
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
