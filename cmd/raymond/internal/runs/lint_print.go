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

// print writes the findings in the chosen format.
func (l *Lint) print(out io.Writer) error {
	switch l.Format {
	case "json":
		return PrintJSON(out, append([]finding{}, l.found...))
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
	if l.count(lint.Error) == 0 { // otherwise the last line on stderr contains the summary
		b.WriteString(l.summary() + "\n")
	}
	// The workflow's files may come from anyone, and a step of a job may print this, so no line may be a
	// command to the runner.
	var inert strings.Builder
	for line := range strings.Lines(b.String()) {
		inert.WriteString(text.Inert(line))
	}
	_, err := io.WriteString(out, inert.String())
	return err
}

// Replacers that escape the text and the properties of GitHub's workflow commands.
var (
	commandText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandValue = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// commandNames are GitHub's names for the severities.
var commandNames = map[lint.Severity]string{
	lint.Error: "error", lint.Warning: "warning", lint.Hint: "notice",
}

// printCommands writes one workflow command for each finding. GitHub shows the finding next to the line
// in the file.
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

// text returns the message and the hint of a finding.
func (r finding) text() string {
	if r.Hint == "" {
		return r.Message
	}
	return r.Message + "; " + r.Hint
}

// The maximum size of an excerpt, in characters.
const (
	excerptWidth = 100
	excerptLead  = 40 // how much is shown before the position, in a line that is cut at its start
)

// excerpt returns the line that a finding is about, with a caret below it. It returns "" if the finding
// is about the whole file or the line is blank.
func (l *Lint) excerpt(r finding) string {
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

// visible replaces each character that could move the cursor with one replacement character.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !text.IsPrintable(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// padding returns spaces and tabs that are as wide as s on a terminal that shows every character in one cell.
func padding(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, s)
}
