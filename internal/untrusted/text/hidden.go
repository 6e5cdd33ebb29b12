package text

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WithoutHidden removes from a text most of what its readers on a page of the forge don't see: invisible characters, control
// characters except tabs, HTML comments, and outside of fenced code other markup and definitions of links. Line breaks become LF.
// The parameters of terminal sequences are visible, so they stay. Calling it again on the result changes nothing.
func WithoutHidden(s string) string {
	s = breaks.Replace(strings.ToValidUTF8(s, string(utf8.RuneError)))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || IsInvisible(r) {
			return -1
		}
		return r
	}, s)
	for range 4 { // without markup, a line may become a fence
		s = strings.TrimSpace(withoutComments(withoutMarkup(s)))
	}
	return s
}

// markup is what a forge does not show of Markdown: comments, processing instructions, declarations and templates.
var markup = []struct{ start, end func() *regexp.Regexp }{
	{Regexp(`^<!--`), Regexp(`(?s)^<!--.*?-->`)},
	{Regexp(`^<\?`), Regexp(`\?>`)},
	{Regexp(`^<!\[`), Regexp(`\]\]>`)},
	{Regexp(`^<![A-Za-z]`), Regexp(`>`)},
	{Regexp(`(?i)^<template\b`), Regexp(`(?i)</template\s*>`)},
}

// definition is a definition of a link, which a forge does not show either. A plain one says nothing besides the address.
var (
	definition = Regexp(`(?m)^[ \t>*+.)0-9-]*\[(?:[^\]\\^]|\\\S)(?:[^\]\\]|\\[\s\S])*\]:[ \t]*\n?[ \t>]*(?:<(?:[^<>\\\n]|\\.)*>|[^\s<>]\S*)` +
		`(?:[ \t]*\n?[ \t>]*(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()\\]|\\[\s\S])*\)))?[ \t]*$`)
	plainDefinition = Regexp(`^\[\S{1,20}\]:[ \t]+https?://\S+$`)
)

// fence begins a block of code, html a block of HTML, which a blank line ends, and raw one in which a blank line has no meaning.
// Within HTML there is no code. After other marks, and markup other than hiddenBlock that has a line break, a forge may take the
// next fence for an end: no code follows.
var (
	fence       = Regexp("^(```+)[^`\n]*(?:\n|$)")
	marks       = Regexp("^[ \t>*+.)0-9-]*(?:```|~~~)")
	hiddenBlock = Regexp(`^<(?:\?|![A-Za-z]|!--[^->])`)
	html        = Regexp(`^[ \t>]*</?[A-Za-z]`)
	raw         = Regexp(`(?i)^[ \t>]*<(?:pre|script|style|textarea)`)
)

// withoutMarkup replaces markup and link definitions outside of fenced code with a blank, so that the text around them does not
// join. Markup without an end stays, since readers see it, unless it begins a line: then they don't see the rest of the text.
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
			isRaw = isRaw || marks().MatchString(line)
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
				if kind > 0 { // a comment joins what is around it
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

// isHTML reports whether a line is in a block of HTML and of raw HTML, if the line before it was.
func isHTML(line string, wasHTML, wasRaw bool) (inHTML, isRaw bool) {
	isRaw = wasRaw || raw().MatchString(line)
	return isRaw || strings.TrimSpace(line) != "" && (wasHTML || html().MatchString(line)), isRaw
}

// codeSize returns how long the block of code is that a text begins with.
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

// withoutComments removes comments, also those that show up once another one is gone.
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
