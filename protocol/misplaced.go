package protocol

import (
	"strings"
	"unicode"
)

// policyLines is the number of lines of a file in which a misplaced policy is searched.
const policyLines = 10

// misplacedPolicy returns the line of the file at which a block like a
// frontmatter begins that has one of the keys that are ours alone but is not at
// the very top, and 0 when there is none. body begins at line first of the file.
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

// barePolicy returns the line at which a text begins with keys of a frontmatter, but without its ---, or with another line
// in its place; 0 for any other text.
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

// isRule reports whether a line is three or more dashes, perhaps with a YAML comment,
// which somebody may mistake for the beginning of a policy.
func isRule(line string) bool {
	line, _, _ = strings.Cut(line, " #")
	line = strings.Trim(line, " \t\r\n"+byteOrderMark+"\u200b")
	return len(line) >= 3 && strings.Trim(line, "-") == ""
}

// isPolicy reports whether lines have one of our own keys before the next rule of dashes and the
// end of the paragraph.
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

// CodeFence is the opening of the fenced code block that a line of Markdown is in, "" for
// none.
type CodeFence string

// After returns the fence that the next line is in.
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

// ticks begin and end code in a line of Markdown.
var ticks = pattern("`+")

// markCode sets IsCode of the tags of a text.
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
