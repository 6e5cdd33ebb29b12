package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Verbs returns the names of the transition tags, in the order of the
// documentation.
func Verbs() []Verb { return slices.Clone(verbs) }

// verbs lists the transition tags in the order of the documentation.
var verbs = []Verb{Goto, Reset, Call, Function, Fork, Result, Join, Ask}

// verbNames returns the names of the transition tags as strings.
func verbNames() []string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return names
}

// MustBeNamed reports whether the verb is join or ask, which are common words in prose. Their tags
// count only if the policy of the state names the verb or, without a policy, if the message has no
// other tag.
func (v Verb) MustBeNamed() bool { return v == Join || v == Ask }

// quotes reports whether other tags inside a tag of this verb are treated as plain text.
func (v Verb) quotes() bool { return v == Result || v == Ask }

// HasTarget reports whether the body of a tag of this verb is the name of a state.
func (v Verb) HasTarget() bool { return v != Result && v != Ask }

// token is the opening of a tag, such as <goto>, or the closing of a tag, such as </goto>.
type token struct {
	start, end int // byte offsets of '<' and of the byte after '>'
	verb       Verb
	closes     bool
	attrs      map[string]string // decoded attributes of an opening; nil if there are none or they are malformed
	wrong      []string          // messages about wrong attributes
}

// tokenForm matches a closing, an opening, or an opening with malformed attributes. A malformed
// opening ends at its first '>', so that an unclosed quote can't swallow the closing of the tag.
// attribute matches one attribute. shortened replaces the abbreviations in both expressions.
var (
	tokenForm = pattern(shortened.Replace(`</(VERB)_*>|<(VERB)(_(?:_*NAME_*=_*VALUE)*_*)?>|<(VERB)(_[^<>]*)>`))
	attribute = pattern(shortened.Replace(`(NAME)_*=_*(VALUE)`))
	shortened = strings.NewReplacer("VERB", strings.Join(verbNames(), "|"), "NAME", `[^ \t\r\n\f\v=<>"'/]+`, "VALUE", `(?:"[^"]*"|'[^']*')`, "_", `[ \t\r\n\f\v]`)
)

// tokensOf returns, in order, the openings and closings of all verbs for which counts returns true.
// An opening inside an attribute value is treated as part of the value.
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

// unescape decodes the entities that attribute values may contain.
var unescape = strings.NewReplacer("&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// attributesIn decodes the attributes in an opening. wrong contains a message for each attribute
// that appears twice.
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
