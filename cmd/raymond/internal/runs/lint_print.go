package runs

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/protocol/lint"
)

// print writes the remarks.
func (l *Lint) print(out io.Writer) error {
	switch l.Format {
	case "json":
		return PrintJSON(out, append([]remark{}, l.found...))
	case "github":
		return l.printCommands(out)
	}
	var b strings.Builder
	for _, r := range l.found {
		place := r.File
		if r.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Col)
		}
		b.WriteString(text.Escape(fmt.Sprintf("%s: %s: %s", place, r.Severity, r.text())) + "\n")
		b.WriteString(l.excerpt(r))
	}
	if l.count(lint.Error) == 0 { // else the last line on stderr says it
		b.WriteString(l.summary() + "\n")
	}
	// The files are anybody's, and a job's step may print this.
	var inert strings.Builder
	for line := range strings.Lines(b.String()) {
		inert.WriteString(text.Inert(line))
	}
	_, err := io.WriteString(out, inert.String())
	return err
}

// The escapes of GitHub's workflow commands.
var (
	commandText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandValue = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// commandNames are GitHub's words for the severities.
var commandNames = map[lint.Severity]string{
	lint.Error: "error", lint.Warning: "warning", lint.Hint: "notice",
}

// printCommands writes a workflow command a line, which GitHub shows beside the
// line of the file.
func (l *Lint) printCommands(out io.Writer) error {
	var b strings.Builder
	for _, r := range l.found {
		fmt.Fprintf(&b, "::%s file=%s", commandNames[r.Severity], commandValue.Replace(text.Printable(filepath.ToSlash(r.File))))
		if r.Line > 0 {
			fmt.Fprintf(&b, ",line=%d,col=%d", r.Line, r.Col)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", commandValue.Replace("raymond lint: "+r.Code), commandText.Replace(text.Printable(r.text())))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (r remark) text() string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + "; " + r.Hint
}

// What an excerpt shows of a line, in characters.
const (
	excerptWidth = 100
	excerptLead  = 40 // before the place, in a line that is cut at its start
)

// excerpt returns the line that a remark is about and the caret; nothing when
// the remark is about all of the file or the line is empty.
func (l *Lint) excerpt(r remark) string {
	lines := l.lines[r.File]
	if r.Line < 1 || r.Line > len(lines) || !slices.ContainsFunc(lines[r.Line-1], func(c rune) bool { return !unicode.IsSpace(c) }) {
		return ""
	}
	line := lines[r.Line-1]
	at := min(max(r.Col-1, 0), len(line))
	before, cut := line[:at], ""
	if at > excerptWidth-excerptLead {
		before, cut = line[at-excerptLead:at], "…"
	}
	after, more := line[at:], ""
	if room := excerptWidth - len(before); len(after) > room {
		after, more = after[:room], "…"
	}
	return "  " + visible(cut+string(before)+string(after)) + more + "\n  " + padding(cut+string(before)) + "^\n"
}

// visible replaces what would move the cursor, one character for one.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !text.IsPrintable(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// padding is as wide as s on a terminal that shows every character in one cell.
func padding(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, s)
}
