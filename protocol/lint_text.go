package protocol

import (
	"cmp"
	"slices"
	"strings"
)

// checkPolicy compares the policy of a prompt with its text.
func (l *linter) checkPolicy(d *reading) {
	for _, t := range d.tags {
		if len(t.problems) == 0 && d.isFirm(t) && !d.permits(t.Tag) {
			l.warn(d.s, t.Pos, d.notMeant(t))
		}
	}
	for _, r := range d.s.Policy.Transitions.Allowed {
		if r.Tag == Ask && r.Next == "" {
			l.warn(d.s, r.Pos, Problem{Code: "ask-next", Message: "the entry for <ask> names no next, so the agent chooses which state gets the answer",
				Hint: "write next: STATE"})
		}
	}
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
