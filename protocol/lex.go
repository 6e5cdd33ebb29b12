package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Verbs returns the names of the transition tags, in the order of the
// documentation.
func Verbs() []Verb { return slices.Clone(verbs) }

var verbs = []Verb{Goto, Reset, Call, Function, Fork, Result, Join, Ask}

// verbNames returns the names of the transition tags as strings.
func verbNames() []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return names
}

// MustBeNamed reports whether a verb is a common word in prose. These tags count only
// if the policy of the state names the verb or, without a policy, if the message has no other
// tag.
func (v Verb) MustBeNamed() bool { return v == Join || v == Ask }

// quotes reports whether tags inside a tag of this verb are plain text.
func (v Verb) quotes() bool { return v == Result || v == Ask }

// HasTarget reports whether the body of a tag of this verb is the name of a state.
func (v Verb) HasTarget() bool { return v != Result && v != Ask }

// token is the opening or the closing of a tag.
type token struct {
	start, end int // byte offsets of '<' and after '>'
	verb       Verb
	closes     bool
	attrs      map[string]string // of an opening; nil if missing or malformed
	wrong      []string          // messages about the attributes
}

// tokenForm matches a closing, an opening, and an opening with malformed attributes. A malformed
// opening ends at its first '>', so that a quote without an end can't swallow the closing tag.
var (
	tokenForm = pattern(shortened.Replace(`</(VERB)_*>|<(VERB)(_(?:_*NAME_*=_*VALUE)*_*)?>|<(VERB)(_[^<>]*)>`))
	attribute = pattern(shortened.Replace(`(NAME)_*=_*(VALUE)`))
	shortened = strings.NewReplacer("VERB", strings.Join(verbNames(), "|"), "NAME", `[^ \t\r\n\f\v=<>"'/]+`, "VALUE", `(?:"[^"]*"|'[^']*')`, "_", `[ \t\r\n\f\v]`)
)

// tokensOf returns all openings and closings of the verbs that counts accepts, in order. An
// opening inside an attribute value is part of the value.
func tokensOf(text string, counts func(Verb) bool) []token {
	var found []token
	for at := 0; ; {
		m := tokenForm().FindStringSubmatchIndex(text[at:])
		if m == nil {
			return found
		}
		part := func(n int) string { return text[at:][max(0, m[2*n]):max(0, m[2*n+1])] }
		closing, opening, malformed := part(1), part(2), part(4)
		verb := Verb(closing + opening + malformed)
		if !counts(verb) {
			at += m[0] + 1
			continue
		}
		t := token{start: at + m[0], end: at + m[1], verb: verb, closes: closing != ""}
		if t.attrs, t.wrong = attributesIn(part(3)); malformed != "" {
			t.wrong = []string{fmt.Sprintf("its attributes %s are not written name=\"value\"", Quote(strings.TrimSpace(part(5))))}
		}
		found = append(found, t)
		at = t.end
	}
}

var unescape = strings.NewReplacer("&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// attributesIn decodes attributes. wrong has a message for each attribute that appears twice.
func attributesIn(text string) (attrs map[string]string, wrong []string) {
	for _, m := range attribute().FindAllStringSubmatch(text, -1) {
		name, value := m[1], m[2][1:len(m[2])-1]
		if _, twice := attrs[name]; twice {
			wrong = append(wrong, fmt.Sprintf("attribute %s appears twice", Quote(name)))
			continue
		}
		if attrs == nil {
			attrs = map[string]string{}
		}
		attrs[name] = unescape.Replace(value)
	}
	return attrs, wrong
}
