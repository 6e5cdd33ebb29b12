package protocol

import (
	"strings"
	"unicode"
)

// policyLines is a number of lines at the top of a file. In these lines, a misplaced policy is a
// problem; further down, it is only a warning. Comments that look like a script's options are
// searched for in these lines only.
const policyLines = 10

// misplacedPolicy returns the line at which a block begins that looks like a frontmatter but is not
// at the very top of the file. The block must contain a key that only this program uses. If there
// is no such block, misplacedPolicy returns 0. body begins at line first of the file.
func misplacedPolicy(body string, first int) int {
	lines := strings.SplitAfter(body[:min(len(body), maxFront)], "\n")
	inFence := CodeFence("")
	for i, line := range lines {
		number := first + i
		wasIn := inFence != ""
		inFence = inFence.After(line)
		if !wasIn && inFence == "" && isRule(line) && isPolicy(lines[i+1:]) {
			return number
		}
	}
	return 0
}

// barePolicy returns the line of the first frontmatter key in a text that begins with such keys but
// lacks the opening ---. Lines without letters and digits may precede the key. For any other text,
// barePolicy returns 0.
func barePolicy(text string) int {
	for i, line := range strings.Split(text[:min(len(text), maxFront)], "\n") {
		k, isShort := keyOf(line), len(strings.Fields(line)) <= 2
		switch isMark := !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }); {
		case k.own, k.name != "" && isShort && i > 0:
			return i + 1
		case !isMark, CodeFence("").After(line) != "":
			return 0
		}
	}
	return 0
}

// isRule reports whether a line consists of three or more dashes, optionally followed by a YAML
// comment. Such a line may be intended as the beginning of a policy.
func isRule(line string) bool {
	line, _, _ = strings.Cut(line, " #")
	line = strings.Trim(line, " \t\r\n"+byteOrderMark+"\u200b")
	return len(line) >= 3 && strings.Trim(line, "-") == ""
}

// isPolicy reports whether the lines contain a key that only this program uses. It searches only
// the first paragraph, up to the next line of dashes.
func isPolicy(lines []string) bool {
	hasBegun := false
	for _, line := range lines {
		isBlank := strings.TrimSpace(line) == ""
		if isRule(line) || hasBegun && isBlank {
			return false
		}
		if keyOf(line).own {
			return true
		}
		hasBegun = hasBegun || !isBlank
	}
	return false
}

// CodeFence is the marker, such as three backquotes, that opened the Markdown code block that a
// line belongs to. It is empty for a line outside code blocks.
type CodeFence string

// After returns the CodeFence of the next line, if f is the CodeFence of this line.
func (f CodeFence) After(line string) CodeFence {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return f
	}
	for _, mark := range []string{"`", "~"} {
		run := rest[:len(rest)-len(strings.TrimLeft(rest, mark))]
		info := strings.TrimSpace(rest[len(run):])
		switch {
		case len(run) < 3:
		case f == "" && (mark == "~" || !strings.Contains(info, mark)):
			return CodeFence(run)
		case f != "" && strings.HasPrefix(run, string(f)) && info == "":
			return ""
		}
	}
	return f
}

// ticks matches the backquotes that begin or end a code span in a line of Markdown.
var ticks = pattern("`+")

// markCode sets IsCode in those tags that are in a code block or a code span of the text. The tags
// must be in the order of the text.
func markCode(text string, tags []ParsedTag) {
	fence, offset := CodeFence(""), 0
	for line := range strings.Lines(text) {
		fence = fence.After(line)
		isSpan, from := false, offset
		for offset += len(line); len(tags) > 0 && tags[0].start < offset; tags = tags[1:] {
			isSpan = isSpan != (len(ticks().FindAllStringIndex(text[from:tags[0].start], -1))%2 == 1)
			from = tags[0].start
			tags[0].IsCode = isSpan || fence != ""
		}
	}
}
