package job

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxLine is the length at which a line of the log is cut, in bytes.
const maxLine = 8 << 10

// printable splits a text into lines that can be shown: without invisible characters, without
// old-style commands, and not too long. A line break at the end begins no further line.
func printable(s string) []string {
	list := strings.Split(strings.TrimSuffix(text.Printable(s), "\n"), "\n")
	for i, line := range list {
		list[i] = text.BreakCommandMark(cut(line))
	}
	return list
}

// colours matches the control sequences that styledLine keeps.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]{0,8}m") })

// styledLine makes one printable line of a text, with its colours.
func styledLine(s string) string {
	var b strings.Builder
	from := 0
	for _, at := range colours().FindAllStringIndex(s, -1) {
		b.WriteString(cut(text.Line(s[from:at[0]])))
		b.WriteString(s[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(cut(text.Line(s[from:])))
	// To a runner that skips control characters, this is an old-style mark.
	return strings.ReplaceAll(text.BreakCommandMark(b.String()), "##\x1b", "# #\x1b")
}

// cut shortens a line, and adds by how much.
func cut(line string) string {
	head := text.Prefix(line, maxLine)
	if head == line {
		return line
	}
	return fmt.Sprintf("%s… (%d bytes more)", head, len(line)-len(head))
}

// oneLine makes one line of a text, without invisible characters.
func oneLine(s string) string { return strings.TrimSpace(cut(text.Line(s))) }

// combining are the characters that a comparison by the rules of a language takes for a part of the
// character before them: marks, and characters that behave like them (half-width voiced marks, the
// Thai and Lao AM, skin tones).
var combining = []*unicode.RangeTable{
	unicode.M, unicode.Other_Grapheme_Extend,
	{R16: []unicode.Range16{{Lo: 0x0E33, Hi: 0x0E33, Stride: 1}, {Lo: 0x0EB3, Hi: 0x0EB3, Stride: 1}, {Lo: 0xFF9E, Hi: 0xFF9F, Stride: 1}}},
	{R32: []unicode.Range32{{Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}}},
}

// avoidCombining returns the data of a command so that it doesn't begin with a combining character. Before
// that the runner doesn't find the two colons, and so no command.
func avoidCombining(data string) string {
	if first, _ := utf8.DecodeRuneInString(data); unicode.In(first, combining...) {
		return "\u00a0" + data
	}
	return data
}
