package text

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WithoutHidden removes most text that GitHub doesn't show to readers of a page. It removes invisible
// characters, control characters except tabs, and HTML comments. Outside of fenced code it also removes
// other hidden markup and link definitions. Line breaks become LF. The parameters of terminal sequences are
// visible and stay. WithoutHidden is idempotent.
func WithoutHidden(s string) string {
	s = lineBreaks.Replace(strings.ToValidUTF8(s, string(utf8.RuneError)))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || IsInvisible(r) {
			return -1
		}
		return r
	}, s)
	for range 4 { // repeated because removed markup may turn a line into a fence
		s = strings.TrimSpace(withoutComments(withoutMarkup(s)))
	}
	return s
}

// markup describes the kinds of Markdown text that a forge hides, by their start and end: comments,
// processing instructions, declarations and templates. Comments come first.
var markup = []struct{ start, end func() *regexp.Regexp }{
	{Regexp(`^<!--`), Regexp(`(?s)^<!--.*?-->`)},
	{Regexp(`^<\?`), Regexp(`\?>`)},
	{Regexp(`^<!\[`), Regexp(`\]\]>`)},
	{Regexp(`^<![A-Za-z]`), Regexp(`>`)},
	{Regexp(`(?i)^<template\b`), Regexp(`(?i)</template\s*>`)},
}

// definition matches a link definition, which a forge hides too. plainDefinition matches a definition that
// consists of a short label and an address. Such definitions are harmless and stay.
var (
	definition = Regexp(`(?m)^[ \t>*+.)0-9-]*\[(?:[^\]\\^]|\\\S)(?:[^\]\\]|\\[\s\S])*\]:[ \t]*\n?[ \t>]*(?:<(?:[^<>\\\n]|\\.)*>|[^\s<>]\S*)` +
		`(?:[ \t]*\n?[ \t>]*(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()\\]|\\[\s\S])*\)))?[ \t]*$`)
	plainDefinition = Regexp(`^\[\S{1,20}\]:[ \t]+https?://\S+$`)
)

// Patterns that match the beginning of a line or of markup. fence matches the start of a code block. html
// matches the start of an HTML block that ends at an empty line. raw matches the start of an HTML block that
// continues after empty lines. HTML blocks contain no fences. After some lines, a forge may read the next
// fence as the end of a block, so withoutMarkup recognizes no further code blocks: after a line that matches
// otherFence but starts no code block, and after markup with a line break that doesn't match hiddenBlock.
var (
	fence       = Regexp("^(```+)[^`\n]*(?:\n|$)")
	otherFence  = Regexp("^[ \t>*+.)0-9-]*(?:```|~~~)")
	hiddenBlock = Regexp(`^<(?:\?|![A-Za-z]|!--[^->])`)
	html        = Regexp(`^[ \t>]*</?[A-Za-z]`)
	raw         = Regexp(`(?i)^[ \t>]*<(?:pre|script|style|textarea)`)
)

// withoutMarkup removes hidden markup and link definitions outside of fenced code. Except for comments, it
// replaces them by a space, so that the text before and after them is not joined. Markup that is not closed is
// visible and stays. If it starts a line, however, a forge hides the rest of the text, so withoutMarkup removes
// the rest.
func withoutMarkup(s string) string {
	var out, prose strings.Builder
	flush := func() {
		out.WriteString(definition().ReplaceAllStringFunc(prose.String(), func(found string) string {
			if plainDefinition().MatchString(found) {
				return found
			}
			return " "
		}))
		prose.Reset()
	}
	isEndless := make([]bool, len(markup))
	inHTML, isRaw := false, false
next:
	for i := 0; i < len(s); {
		if i == 0 || s[i-1] == '\n' {
			line, _, _ := strings.Cut(s[i:], "\n")
			inHTML, isRaw = isHTML(line, inHTML, isRaw)
			if open := fence().FindStringSubmatch(line); open != nil && !inHTML {
				flush()
				size := codeSize(s[i:], open[1])
				out.WriteString(s[i : i+size])
				i += size
				continue
			}
			isRaw = isRaw || otherFence().MatchString(line)
		}
		for kind, m := range markup {
			if s[i] != '<' || !m.start().MatchString(s[i:min(len(s), i+16)]) {
				continue
			}
			var end []int
			if !isEndless[kind] {
				end = m.end().FindStringIndex(s[i:])
			}
			if end != nil {
				isRaw = isRaw || strings.Contains(s[i:i+end[1]], "\n") && (i > 0 && s[i-1] != '\n' || inHTML || !hiddenBlock().MatchString(s[i:]))
				if kind > 0 { // comments are removed without a space
					prose.WriteByte(' ')
				}
				i += end[1]
				continue next
			}
			isEndless[kind] = true
			if strings.HasSuffix("\n"+strings.TrimRight(s[max(0, i-64):i], " \t>"), "\n") {
				i = len(s)
				continue next
			}
		}
		prose.WriteByte(s[i])
		i++
	}
	flush()
	return out.String()
}

// isHTML reports whether a line is in an HTML block, and whether that block is raw. wasHTML and wasRaw are
// the results for the previous line.
func isHTML(line string, wasHTML, wasRaw bool) (inHTML, isRaw bool) {
	isRaw = wasRaw || raw().MatchString(line)
	return isRaw || strings.TrimSpace(line) != "" && (wasHTML || html().MatchString(line)), isRaw
}

// codeSize returns the length of the code block at the start of a text. The parameter fence contains the
// backticks with which the block begins.
func codeSize(s, fence string) (size int) {
	for line := range strings.Lines(s) {
		first := size == 0
		size += len(line)
		indent := min(3, len(line)-len(strings.TrimLeft(line, " ")))
		if ticks := strings.TrimRight(line[indent:], " \t\n"); !first && len(ticks) >= len(fence) && strings.Trim(ticks, "`") == "" {
			break
		}
	}
	return size
}

// withoutComments removes HTML comments, even comments that appear only when another comment is removed.
func withoutComments(s string) string {
	kept := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		kept = append(kept, s[i])
		if !bytes.HasSuffix(kept, []byte("<!--")) {
			continue
		}
		kept = kept[:len(kept)-len("<!--")]
		end := strings.Index(s[i:], "-->")
		if end < 0 {
			break
		}
		i += end + len("-->") - 1
	}
	return string(kept)
}
