package protocol

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkPolicy compares the policy of a prompt with its text.
func (l *linter) checkPolicy(d *reading) {
	for _, t := range d.tags {
		if len(t.problems) == 0 && d.isFirm(t) && !d.permits(t.Tag) {
			l.warn(d.s, t.Pos, d.notMeant(t))
		}
	}
	if !d.s.Policy.Transitions.Restricted {
		return
	}
	if _, ok := d.s.Policy.Transitions.implicit(l.w.catalog); ok {
		return
	}
	m := mentioned{d: d, prose: Render(d.s.Body, func(string) (string, bool) { return "", true })}
	for _, r := range d.s.Policy.Transitions.Allowed {
		if r.Tag == Ask && r.Next == "" {
			l.warn(d.s, r.Pos, Problem{Code: "ask-next", Message: "the entry for <ask> names no next, so the agent chooses which state gets the answer",
				Hint: "write next: STATE"})
		}
		if !m.rule(r) {
			l.warn(d.s, r.Pos, unmentioned("the transition "+r.name()+r.place()))
		}
	}
	m.short(l)
}

// isFirm reports whether the states that a tag names exist or are left open. For others
// there is a finding already.
func (d *reading) isFirm(t written) bool {
	isUnknown := func(part statePart) bool {
		g := d.goal(part.state)
		return g.State == "" && !g.Open
	}
	return !slices.ContainsFunc(t.stateParts(), isUnknown)
}

func (d *reading) notMeant(t written) Problem {
	p := notAllowed(t.Tag)
	message := p.Message
	if d.s.Policy.Transitions.Restricted {
		message = strings.TrimSuffix(message, " in this state") + " by the policy of this state"
	}
	return Problem{Code: "forbidden", Message: message, Hint: cmp.Or(p.Hint, "allow it, or don't show it to the agent")}
}

func unmentioned(what string) Problem {
	return Problem{Code: "unmentioned", Message: "the text never mentions " + what + ", which the policy allows",
		Hint: "tell the agent when to choose it, or don't allow it"}
}

// place describes where an entry of a policy leads, as far as the entry says so.
func (r *Rule) place() string {
	text := ""
	if r.Target != "" {
		text = " to " + quote(r.Target)
	}
	for _, part := range [][2]string{{partReturn, r.Return}, {partNext, r.Next}, {partTimeoutNext, r.TimeoutNext}} {
		if part[1] != "" {
			text += " with " + part[0] + " " + quote(part[1])
		}
	}
	return text
}

// mentioned looks for the parts of a policy in the text of its prompt.
type mentioned struct {
	d     *reading
	prose string // the text without its templates
}

// rule reports whether the text shows an entry as a tag, or mentions the state that it
// leads to or, when the entry names no state, its tag.
func (m mentioned) rule(r Rule) bool {
	if slices.ContainsFunc(m.d.tags, func(t written) bool { return m.d.mayFit(r, t.Tag) }) {
		return true
	}
	if r.Target != "" {
		return m.state(r.Target)
	}
	if r.Tag == Ask && (hasWord(strings.ToLower(m.prose), "ask") || hasWord(m.prose, "question")) {
		return true
	}
	return slices.ContainsFunc(r.verbs(), func(v Verb) bool { return hasWord(m.prose, string(v)) })
}

// state reports whether the text mentions a state, but not in a tag: that would be
// another transition.
func (m mentioned) state(target string) bool {
	inTag := func(t written) bool { return t.Verb.hasTarget() && m.d.w.catalog.same(target, t.Body) }
	if slices.ContainsFunc(m.d.tags, inTag) {
		return false
	}
	name := m.d.w.catalog.find(target)
	return hasWord(m.prose, Stem(name)) || hasWord(m.prose, name)
}

// short checks that the text mentions what the short form of the policy allows.
func (m mentioned) short(l *linter) {
	p := &m.d.s.Policy.Transitions
	for _, v := range p.Tags {
		if !hasWord(m.prose, string(v)) {
			l.warn(m.d.s, Pos{}, unmentioned("<"+string(v)+">"))
		}
	}
	for _, r := range m.d.s.References {
		named := hasWord(m.prose, Stem(m.d.w.catalog.find(r.Name))) || hasWord(m.prose, m.d.w.catalog.find(r.Name))
		if r.Policy && r.Verb == "" && r.Part == "target" && slices.Contains(p.Targets, r.Name) && !named {
			l.warn(m.d.s, r.Pos, unmentioned("the state "+quote(r.Name)))
		}
	}
}

// hasWord reports whether text contains a word that is not part of a longer one.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
	}
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// checkTemplates checks the names in the templates of a prompt.
func (l *linter) checkTemplates(s *State) {
	if s.Kind != Prompt || l.supply.names == nil {
		return
	}
	place := placer{text: s.Body, pos: Pos{1, 1}}
	offset := 0
	seen := map[string]bool{"": true}
	eachTemplate(s.Body, func(before, whole, name string) {
		at := offset + len(before)
		offset = at + len(whole)
		foreign := strings.HasSuffix(before, "$") // ${{ }} is GitHub's
		if seen[name] || foreign || l.supply.has(s, name) {
			return
		}
		seen[name] = true
		pos := place.at(at)
		pos.Line += s.Line - 1
		l.warn(s, pos, l.supply.unknownName(name))
	})
}
