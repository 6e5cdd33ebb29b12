package ask

import (
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// Call returns what a text says after the prefix that it begins with, as its readers see
// it; false when it doesn't begin so. Lines that quote somebody don't count.
func Call(body, prefix string) (said string, ok bool) {
	rest := text.WithoutHidden(body)
	for isQuoted(rest) || strings.HasPrefix(strings.TrimLeft(rest, " \t"), "\n") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	said, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), prefix)
	if !ok || said != "" && !unicode.IsSpace([]rune(said)[0]) {
		return "", false
	}
	return strings.TrimSpace(said), true
}

// Payload returns what a remark that begins with the prefix says to the state that it
// starts: for a comment on a line with that line and the part of the diff before it.
func Payload(r job.Remark, prefix string, toPrompt bool) string {
	said, _ := Call(r.Body, prefix)
	return job.Answer(onLine(r, said), toPrompt)
}

// isQuoted reports whether a text begins with a line that quotes somebody.
func isQuoted(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t"), ">") }

// unquoted is a text without the lines that quote somebody.
func unquoted(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if !isQuoted(line) {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}
