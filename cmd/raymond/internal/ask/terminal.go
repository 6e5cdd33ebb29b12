package ask

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

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
