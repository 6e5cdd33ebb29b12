// Package text makes what others wrote fit to be shown: without what a terminal, a job
// log or a reader of Markdown would obey, without what nobody sees, and no longer than
// there is room for. All that it returns is valid UTF-8, if not said otherwise.
package text

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// IsInvisible reports whether a character shows nothing and takes no room: format
// characters such as zero-width and bidirectional ones, tags, variation selectors,
// fillers.
func IsInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // format characters that are seen
}

// IsPrintable reports whether a character is seen, or is a blank: it is neither a control
// character, a line break among them, nor an invisible one, nor one whose look only a
// private agreement or a later version of Unicode says.
func IsPrintable(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~' // needs no tables, and is what most text has
	}
	return unicode.IsGraphic(r) && !IsInvisible(r)
}

// Regexp is a regular expression that is compiled when it is used first.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// sequences are what a terminal obeys: CSI, then OSC and its kin up to their end, which
// is on the same line, then the short ones.
var sequences = Regexp("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\x07\x1b\u009c\n\r\u0085\u2028\u2029]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// breaks makes one line break of the several that there are.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n")

// Printable returns a text without what a terminal obeys and without what is not seen.
// Line breaks become LF; they and tabs stay. Doing it twice changes nothing.
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
	}, breaks.Replace(s))
}

// Line is Printable on one line: each line break becomes a blank, and tabs stay.
func Line(s string) string { return strings.ReplaceAll(Printable(s), "\n", " ") }

// Escape returns a text on one line, in which line breaks, tabs, and whatever else
// is no graphic character of Unicode are spelled as in a string of Go. A backslash
// stays as it is.
func Escape(s string) string {
	plain := func(r rune) bool { return ' ' <= r && r <= '~' }
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s // as nearly every line is
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

// BreakCommandMark breaks up the mark of a CI runner's old-style commands, which it finds
// anywhere in a line. What comes between must be seen: the runner compares by the
// rules of a language, and those pass over invisible characters. It is the last thing
// to do to a line, after all that may bring the parts of a mark together.
func BreakCommandMark(line string) string { return strings.ReplaceAll(line, "##[", "# #[") }

// Inert is a line that no CI runner takes for one of its commands, which begin a line or, in the old style,
// stand anywhere in it.
func Inert(line string) string {
	start := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest, isCommand := strings.CutPrefix(start, "::"); isCommand {
		line = line[:len(line)-len(start)] + ": :" + rest
	}
	return BreakCommandMark(line)
}
