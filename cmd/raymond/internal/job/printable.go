package job

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is where a line of the log is cut, in bytes.
const maxLine = 8 << 10

// escapes are terminals' control sequences (colours, titles), which would leave
// their parameters behind.
var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(\x07|\x1b\\\\))")

// printable splits a text into lines that can be shown: without control
// characters, invisible characters and old-style commands, valid UTF-8, and not
// too long. A line break at the end begins no further line.
func printable(text string) []string {
	text = breaks.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSuffix(text, "\n")
	list := strings.Split(text, "\n")
	for i, line := range list {
		list[i] = unmarked(cut(visible(line)))
	}
	return list
}

// colours are the control sequences that painted lets through.
var colours = regexp.MustCompile("\x1b\\[[0-9;]{0,8}m")

// painted is a text on one line that can be shown, with its colours.
func painted(text string) string {
	var b strings.Builder
	plain := func(s string) {
		s = breaks.Replace(strings.ToValidUTF8(s, "\uFFFD"))
		b.WriteString(cut(visible(strings.ReplaceAll(s, "\n", " "))))
	}
	from := 0
	for _, at := range colours.FindAllStringIndex(text, -1) {
		plain(text[from:at[0]])
		b.WriteString(text[at[0]:at[1]])
		from = at[1]
	}
	plain(text[from:])
	// For a runner that passes over control characters this is an old-style mark.
	return strings.ReplaceAll(unmarked(b.String()), "##\x1b", "##\\\x1b")
}

// visible removes what is not seen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) || Invisible(r) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(s, ""))
}

// cut shortens a line, and says by how much.
func cut(line string) string {
	if len(line) <= maxLine {
		return line
	}
	n := maxLine
	for !utf8.RuneStart(line[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes more)", line[:n], len(line)-n)
}

// unmarked breaks up the mark of old-style commands, which the runner finds
// anywhere in a line. What stands between must be visible: the runner compares
// by the rules of a language, and those pass over zero-width characters.
func unmarked(line string) string { return strings.ReplaceAll(line, "##[", `##\[`) }

// oneLine is a text on one line, without what is not seen.
func oneLine(text string) string {
	text = breaks.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(cut(visible(strings.ReplaceAll(text, "\n", " "))))
}

// multiLine is a text without what is not seen, apart from its line breaks.
func multiLine(text string) string {
	return strings.TrimSpace(visible(breaks.Replace(strings.ToValidUTF8(text, "\uFFFD"))))
}

// leaning are the characters that a reader who compares by the rules of a language
// takes for a part of the character before them: marks, and what behaves like one
// (half-width voiced marks, the Thai and Lao AM, skin tones).
var leaning = []*unicode.RangeTable{
	unicode.M, unicode.Other_Grapheme_Extend,
	{R16: []unicode.Range16{{Lo: 0x0E33, Hi: 0x0E33, Stride: 1}, {Lo: 0x0EB3, Hi: 0x0EB3, Stride: 1}, {Lo: 0xFF9E, Hi: 0xFF9F, Stride: 1}}},
	{R32: []unicode.Range32{{Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}}},
}

// upright is the data of a command, which begins with a character that can stand
// by itself. Before any other one the runner does not find the two colons, and so
// no command.
func upright(data string) string {
	if first, _ := utf8.DecodeRuneInString(data); unicode.In(first, leaning...) {
		return "\u00a0" + data
	}
	return data
}
