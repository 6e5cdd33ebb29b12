package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// markup is what a forge does not show of Markdown outside of code: processing instructions, declarations and templates.
var markup = []struct{ start, end func() *regexp.Regexp }{
	{Regexp(`^<\?`), Regexp(`\?>`)},
	{Regexp(`^<!\[`), Regexp(`\]\]>`)},
	{Regexp(`^<![A-Za-z]`), Regexp(`>`)},
	{Regexp(`(?i)^<template\b`), Regexp(`(?i)</template\s*>`)},
}

// withoutMarkup replaces it. What has no end is shown, unless it begins a line: there it hides the rest of the text.
func withoutMarkup(s, replacement string) string {
	var out strings.Builder
	isEndless := make([]bool, len(markup))
	kept := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '<' {
			continue
		}
		kind := slices.IndexFunc(markup, func(m struct{ start, end func() *regexp.Regexp }) bool {
			return m.start().MatchString(s[i:min(len(s), i+16)])
		})
		if kind < 0 {
			continue
		}
		var end []int
		if !isEndless[kind] {
			end = markup[kind].end().FindStringIndex(s[i:])
		}
		if isEndless[kind] = end == nil; !isEndless[kind] {
			out.WriteString(s[kept:i] + replacement)
			kept = i + end[1]
			i = kept - 1
		} else if before := strings.TrimRight(s[kept:i], " \t>"); before == "" || strings.HasSuffix(before, "\n") {
			return out.String() + before
		}
	}
	return out.String() + s[kept:]
}

// definition is a definition of a link, which a forge does not show either.
var definition = Regexp(`(?m)^[ >*+-]*\[[^\]^][^\]]*\]:[ \t]*\n?[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)(?:[ \t]*\n?[ \t]*(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$`)

// plainDefinition is a definition of a link that says nothing besides the address, as many people write it.
var plainDefinition = Regexp(`^\[\S{1,20}\]:[ \t]+https?://\S+$`)

// WithoutHidden removes from a text most of what its readers on a page of the forge don't see: invisible characters, control
// characters except tabs, HTML comments, and outside of code other markup and definitions of links. Line breaks become LF. Calling it
// again on the result changes nothing. The parameters of terminal sequences are visible, so they stay.
func WithoutHidden(s string) string {
	s = breaks.Replace(strings.ToValidUTF8(s, string(utf8.RuneError)))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || Invisible(r) {
			return -1
		}
		return r
	}, s)
	for range 4 { // what was removed may have separated the parts of something else
		cleaned, code := withoutCode(withoutComments(s))
		cleaned = definition().ReplaceAllStringFunc(withoutMarkup(cleaned, ""), func(found string) string {
			if plainDefinition().MatchString(found) {
				return found
			}
			return ""
		})
		cleaned = placeholder().ReplaceAllStringFunc(cleaned, func(found string) string {
			i, _ := strconv.Atoi(strings.Trim(found, "\x00"))
			return code[i]
		})
		if cleaned = strings.TrimSpace(cleaned); cleaned == s {
			return s
		}
		s = cleaned
	}
	return strings.TrimSpace(definition().ReplaceAllString(withoutMarkup(withoutComments(s), " "), " "))
}

// placeholder stands for a block of code. A text that WithoutHidden cleans has no such character.
var placeholder = Regexp(`\x00\d+\x00`)

// withoutCode replaces fenced blocks of code by placeholders. A fence within HTML is none: the forge shows no code there.
func withoutCode(s string) (prose string, code []string) {
	var out strings.Builder
	fence, inHTML, isRaw := "", false, false
	from, to := 0, 0 // the open block so far
	for line := range strings.Lines(s) {
		bare := strings.TrimRight(line, " \t\n")
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		to += len(line)
		switch {
		case fence != "" && bare == ticks && len(ticks) >= len(fence):
			fmt.Fprintf(&out, "\x00%d\x00\n", len(code))
			code, fence = append(code, strings.TrimSuffix(s[from:to], "\n")), ""
		case fence != "":
		case len(ticks) >= 3 && !strings.Contains(bare[len(ticks):], "`") && !inHTML && !isRaw:
			fence, from = ticks, to-len(line)
		default:
			out.WriteString(line)
			inHTML = bare != "" && (inHTML || strings.HasPrefix(strings.TrimLeft(bare, " \t>"), "<"))
			isRaw = isRaw || raw().MatchString(bare)
		}
	}
	if fence != "" {
		out.WriteString(s[from:])
	}
	return out.String(), code
}

// raw begins HTML in which blank lines have no meaning.
var raw = Regexp(`(?i)^[ \t>]*<(?:pre|script|style|textarea)`)

const commentStart, commentEnd = "<!--", "-->"

// withoutComments removes comments, also those that show up once another one is gone.
func withoutComments(s string) string {
	kept := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		kept = append(kept, s[i])
		if !bytes.HasSuffix(kept, []byte(commentStart)) {
			continue
		}
		kept = kept[:len(kept)-len(commentStart)]
		end := strings.Index(s[i:], commentEnd)
		if end < 0 {
			break
		}
		i += end + len(commentEnd) - 1
	}
	return string(kept)
}
