package protocol

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Verbs returns the names of the transition tags, in the order of the
// documentation.
func Verbs() []Verb { return slices.Clone(verbs) }

var verbs = []Verb{Goto, Reset, Call, Function, Fork, Result, Join, Ask}

func verbNames() []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return names
}

// MustBeNamed reports whether tags of this verb count only where the policy of the state
// names the verb or, without a policy, where no other tag stands in the message. The
// words are common in prose.
func (v Verb) MustBeNamed() bool { return v == Join || v == Ask }

// quotes reports whether tags inside one of this verb are text.
func (v Verb) quotes() bool { return v == Result || v == Ask }

// HasTarget reports whether a tag of this verb has the name of a state between its
// opening and its closing.
func (v Verb) HasTarget() bool { return v != Result && v != Ask }

const blanks = " \t\r\n\f\v"

// token is the opening or the closing of a tag.
type token struct {
	start, end int // offsets of '<' and of what follows '>'
	head       *head
	verb       uint8 // index in verbs
	closes     bool
}

// head is what an opening says beside its name.
type head struct {
	attrs    map[string]string
	problems []string
}

// lexer finds tokens, in time proportional to the length of any text. What turns out not
// to be an opening is read again, but never more than three times: of all openings that
// reach over an offset, at most one is between its values there, one in a value with
// double quotes and one in a value with single quotes. The next quote ends one of these
// values or begins another, and the next '<' ends an opening between its values.
type lexer struct {
	text   string
	counts func(Verb) bool // whether tags of a verb are looked for
}

// tokensOf returns all openings and closings in order. An opening inside an
// attribute value is part of the value.
func tokensOf(text string, counts func(Verb) bool) []token {
	l := lexer{text: text, counts: counts}
	var found []token
	for at := 0; ; {
		i := strings.IndexByte(l.text[at:], '<')
		if i < 0 {
			return found
		}
		at += i
		t, ok := l.token(at)
		if !ok {
			at++
			continue
		}
		found = append(found, t)
		at = t.end
	}
}

// token reads the token that begins at the '<' at start.
func (l *lexer) token(start int) (token, bool) {
	at := start + 1
	closes := at < len(l.text) && l.text[at] == '/'
	if closes {
		at++
	}
	verb, ok := verbAt(l.text[at:])
	if !ok || !l.counts(verbs[verb]) {
		return token{}, false
	}
	t := token{start: start, verb: verb, closes: closes}
	at += len(verbs[verb])
	if closes {
		at = l.skipBlank(at)
		t.end = at + 1
		return t, at < len(l.text) && l.text[at] == '>'
	}
	t.head, t.end, ok = l.head(at)
	return t, ok
}

// verbAt returns which verb s begins with as a whole word.
func verbAt(s string) (uint8, bool) {
	for i, v := range verbs {
		rest, ok := strings.CutPrefix(s, string(v))
		if ok && rest != "" && strings.IndexByte(blanks+">", rest[0]) >= 0 {
			return uint8(i), true
		}
	}
	return 0, false
}

func (l *lexer) skipBlank(at int) int {
	for at < len(l.text) && strings.IndexByte(blanks, l.text[at]) >= 0 {
		at++
	}
	return at
}

// head reads the attributes from at to the '>' that ends the opening, and
// returns the offset after it.
func (l *lexer) head(at int) (*head, int, bool) {
	if l.text[at] == '>' {
		return nil, at + 1, true
	}
	attrs, end, bad := l.attributes(at)
	if bad == "" {
		return newHead(attrs), end, true
	}
	// A quote that is never closed must not swallow the closing tag, so a
	// malformed opening ends at its first '>'.
	i := strings.IndexAny(l.text[at:], "<>")
	if i < 0 || l.text[at+i] == '<' {
		return nil, 0, false
	}
	return &head{problems: []string{bad}}, at + i + 1, true
}

// attribute is one name="value" as written.
type attribute struct{ name, value string }

// attributes reads them from at, and returns the offset after the '>', or what is wrong with them.
func (l *lexer) attributes(at int) (attrs []attribute, end int, bad string) {
	for start := at; ; {
		at = l.skipBlank(at)
		if at == len(l.text) {
			return nil, 0, fmt.Sprintf("its attributes %s have no end", Quote(l.text[start:]))
		}
		if l.text[at] == '>' {
			return attrs, at + 1, ""
		}
		a, end, bad := l.attribute(at)
		if bad != "" {
			return nil, 0, bad
		}
		attrs, at = append(attrs, a), end
	}
}

func (l *lexer) attribute(at int) (a attribute, end int, bad string) {
	rest := l.text[at:]
	n := strings.IndexAny(rest, blanks+`=<>"'/`)
	if _, size := utf8.DecodeRuneInString(rest); n <= 0 {
		return attribute{}, 0, fmt.Sprintf("unexpected %s among its attributes", Quote(rest[:size]))
	}
	name := rest[:n]
	at = l.skipBlank(at + n)
	if at == len(l.text) || l.text[at] != '=' {
		return attribute{}, 0, fmt.Sprintf("attribute %s has no value", Quote(name))
	}
	at = l.skipBlank(at + 1)
	if at == len(l.text) || (l.text[at] != '"' && l.text[at] != '\'') {
		return attribute{}, 0, fmt.Sprintf("the value of attribute %s is not in quotes", Quote(name))
	}
	length := strings.IndexByte(l.text[at+1:], l.text[at])
	if length < 0 {
		return attribute{}, 0, fmt.Sprintf("the value of attribute %s has no closing quote", Quote(name))
	}
	end = at + 1 + length
	return attribute{name, l.text[at+1 : end]}, end + 1, ""
}

var unescape = strings.NewReplacer("&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// newHead decodes the attributes and notes those that appear twice.
func newHead(attrs []attribute) *head {
	if len(attrs) == 0 {
		return nil
	}
	h := &head{attrs: make(map[string]string, len(attrs))}
	for _, a := range attrs {
		if _, twice := h.attrs[a.name]; twice {
			h.problems = append(h.problems, fmt.Sprintf("attribute %s appears twice", Quote(a.name)))
			continue
		}
		h.attrs[a.name] = unescape.Replace(a.value)
	}
	return h
}
