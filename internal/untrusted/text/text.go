// Package text prepares untrusted text for display. It removes sequences that a terminal, a job log or
// Markdown would interpret, removes hidden text, and limits the length. Unless a function says
// otherwise, the result is valid UTF-8.
package text

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// IsInvisible reports whether a character is invisible and has no width. These are tags, variation
// selectors, fillers, and format characters, for example zero-width and bidirectional characters.
func IsInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these format characters are visible
}

// IsPrintable reports whether a character is visible or a space. It returns false for control characters
// (including line breaks), invisible characters, private-use characters and unassigned characters.
func IsPrintable(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~' // the common case needs no Unicode tables
	}
	return unicode.IsGraphic(r) && !IsInvisible(r)
}

// Regexp returns a function that compiles a regular expression at its first call.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// sequences matches terminal sequences. Its three parts match CSI sequences, OSC and similar sequences that
// end on the same line, and short sequences.
var sequences = Regexp("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c\n\r\u0085\u2028\u2029]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// lineBreaks converts all line breaks to LF.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n")

// Printable removes terminal sequences, and all characters that IsPrintable rejects except tabs and line
// breaks. Line breaks become LF. Printable is idempotent.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if strings.ContainsFunc(s, func(r rune) bool { return r == '\x1b' || 0x80 <= r && r < 0xa0 }) {
		s = sequences().ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || IsPrintable(r) {
			return r
		}
		return -1
	}, lineBreaks.Replace(s))
}

// Line is like Printable, but returns one line: each line break becomes a space. Tabs stay.
func Line(s string) string { return strings.ReplaceAll(Printable(s), "\n", " ") }

// Escape returns a text on one line. Characters that are not graphic in Unicode, including line breaks and
// tabs, are escaped as in a Go string. Backslashes are not escaped.
func Escape(s string) string {
	plain := func(r rune) bool { return ' ' <= r && r <= '~' }
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s // the common case
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, string(utf8.RuneError)) {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// BreakCommandMark changes ##[, the mark of old-style runner commands, so that a runner doesn't recognize it.
// Runners find the mark anywhere in a line. The inserted character is a space, because runners ignore
// invisible characters, such as zero-width ones, when they compare text. Call BreakCommandMark after all
// other changes to the line, because they could create a new mark.
func BreakCommandMark(line string) string { return strings.ReplaceAll(line, "##[", "# #[") }

// Inert returns a line that no CI runner interprets as a command. Runner commands start a line, except for
// old-style commands, which may occur anywhere in a line.
func Inert(line string) string {
	start := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest, isCommand := strings.CutPrefix(start, "::"); isCommand {
		line = line[:len(line)-len(start)] + ": :" + rest
	}
	return BreakCommandMark(line)
}
