package protocol

import (
	"slices"
	"strings"
)

// scanMessage returns the tags of a message that count under a policy. An ask or a join
// counts where the policy names it or, without a policy, where no other tag stands in the
// message, so that prose with these words means what it meant before they were tags.
func (p *Transitions) scanMessage(text string) scanned {
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

func anyVerb(Verb) bool { return true }

func olderVerb(v Verb) bool { return !v.MustBeNamed() }

// scanFile returns the tags in the text of a state's file. Without a policy, prose with
// the word ask or join in angle brackets is not among them.
func (s *State) scanFile() scanned {
	text := unescaped(s)
	if s.Policy.Transitions.Restricted {
		return scan(text, s.Policy.Transitions.CountsVerb)
	}
	found := pairUp(text, meantAsTags(tokensOf(text, anyVerb)))
	found.tags = slices.DeleteFunc(found.tags, isProse)
	return found
}

// isProse reports whether a tag looks like other XML with the name of one of ours: a join
// has no attributes, and the name of one state in it.
func isProse(t ParsedTag) bool {
	return t.Verb == Join && (len(t.Problems) > 0 || len(strings.Fields(t.Body)) != 1)
}

// CountsVerb reports whether tags of a verb count under a policy.
func (p *Transitions) CountsVerb(v Verb) bool {
	return !v.MustBeNamed() || slices.Contains(p.Tags, v) ||
		slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Tag == v })
}

// meantAsTags returns the tokens without the openings <ask> that have no attributes: an
// ask has at least one, and what merely looks like it must not hide the tags inside it.
// Inside an ask such an opening stays, because it has a closing of its own.
func meantAsTags(tokens []token) []token {
	kept := make([]token, 0, len(tokens))
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
		kept = append(kept, t)
	}
	return kept
}
