package protocol

import (
	"slices"
	"strings"
)

// scanMessage returns the tags in a message that count under a policy. An ask or a join counts
// only if the policy names it or, without a policy, if the message contains no other tag. Messages
// that use these words in prose are thus read as they were before ask and join became tags.
func (p *Transitions) scanMessage(text string) scanResult {
	if p.Restricted {
		return scan(text, p.CountsVerb)
	}
	tokens := tokensOf(text, anyVerb)
	meant := pairUp(text, meantAsTags(tokens))
	isOther := func(t ParsedTag) bool { return !t.Verb.MustBeNamed() || isProse(t) }
	if len(meant.tags) > 0 && !slices.ContainsFunc(meant.tags, isOther) {
		return meant
	}
	if found := scan(text, olderVerb); len(found.tags) > 0 {
		return found
	}
	return pairUp(text, tokens)
}

// anyVerb accepts every verb.
func anyVerb(Verb) bool { return true }

// olderVerb reports whether a verb is neither ask nor join. These two were added later than the
// others, and they also occur in prose.
func olderVerb(v Verb) bool { return !v.MustBeNamed() }

// isProse reports whether a tag is other XML that only looks like a join: a join has no
// attributes, and its body is the name of one state.
func isProse(t ParsedTag) bool {
	return t.Verb == Join && (len(t.Problems) > 0 || len(strings.Fields(t.Body)) != 1)
}

// CountsVerb reports whether tags of a verb count under a policy. An ask or a join counts only if
// the policy names it.
func (p *Transitions) CountsVerb(v Verb) bool {
	return !v.MustBeNamed() || slices.Contains(p.Tags, v) ||
		slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Tag == v })
}

// meantAsTags returns the tokens without those <ask> openings that have no attributes. A real ask
// has at least one attribute, and text that only looks like an ask must not hide the tags inside
// it. An <ask> inside a real ask is kept, because it has its own closing.
func meantAsTags(tokens []token) []token {
	rest := make([]token, 0, len(tokens))
	depth := 0
	for _, t := range tokens {
		switch {
		case t.verb != Ask:
		case t.closes:
			depth = max(0, depth-1)
		case t.attrs == nil && t.wrong == nil && depth == 0:
			continue
		default:
			depth++
		}
		rest = append(rest, t)
	}
	return rest
}
