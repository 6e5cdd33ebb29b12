package protocol

import (
	"maps"
	"slices"
	"strings"
)

// allowsManyForks reports whether the state may write several forks at once.
func (p *Policy) allowsManyForks() bool {
	return p.ManyForks || slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Many })
}

// allows reports whether a policy allows a tag. The long and the short form
// hold both where both are given.
func (w *Workflow) allows(p *Policy, t Tag) bool {
	if !p.Restricted {
		return true
	}
	if p.Tags != nil && !slices.Contains(p.Tags, t.Verb) {
		return false
	}
	if p.Targets != nil && !w.inTargets(p.Targets, t) {
		return false
	}
	return p.Allowed == nil && (p.Tags != nil || p.Targets != nil) ||
		slices.ContainsFunc(p.Allowed, func(r Rule) bool { return w.fits(r, t) })
}

// inTargets reports whether every state that a tag names is in the list.
func (w *Workflow) inTargets(targets []string, t Tag) bool {
	listed := func(name string) bool {
		return slices.ContainsFunc(targets, func(target string) bool { return w.same(target, name) })
	}
	if t.Verb != Result && !listed(t.Body) {
		return false
	}
	part := requiredOf[t.Verb]
	return part == "" || listed(t.Attrs[part])
}

// fits reports whether a tag matches a rule on every key that the rule names.
func (w *Workflow) fits(r Rule, t Tag) bool {
	switch {
	case r.Tag != "" && r.Tag != t.Verb,
		r.Target != "" && (t.Verb == Result || !w.same(r.Target, t.Body)),
		r.Payload != nil && (t.Verb != Result || *r.Payload != t.Body),
		r.Many && t.Verb != Fork,
		r.Return != "" && !w.hasState(t, "return", r.Return),
		r.Next != "" && !w.hasState(t, "next", r.Next):
		return false
	}
	for name, value := range r.Attrs {
		if got, ok := t.Attrs[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// hasState reports whether an attribute that the verb of the tag requires names
// a state.
func (w *Workflow) hasState(t Tag, part, state string) bool {
	return requiredOf[t.Verb] == part && w.same(state, t.Attrs[part])
}

// same reports whether two targets mean the same state.
func (w *Workflow) same(a, b string) bool {
	one, p := w.Resolve(strings.TrimSpace(a))
	if p != nil {
		return false
	}
	other, p := w.Resolve(strings.TrimSpace(b))
	return p == nil && one == other
}

// implicit returns the tag that a state means when it writes none: the only one
// its policy allows, when that leaves nothing open.
func (w *Workflow) implicit(s *State) (Tag, bool) {
	p := &s.Policy
	var t Tag
	switch {
	case len(p.Allowed) == 1:
		t = p.Allowed[0].tag()
	case p.Allowed == nil && len(p.Tags) == 1 && w.areOne(p.Targets):
		t = Tag{Verb: p.Tags[0], Body: p.Targets[0]}
	default:
		return Tag{}, false
	}
	part := requiredOf[t.Verb]
	switch {
	case t.Verb == "":
		return Tag{}, false
	case t.Verb == Result:
		return t, len(p.Allowed) == 1 && p.Allowed[0].Payload != nil && w.allows(p, t)
	}
	complete := t.Body != "" && (part == "" || t.Attrs[part] != "")
	return t, complete && w.allows(p, t)
}

// areOne reports whether a list of targets names exactly one state.
func (w *Workflow) areOne(targets []string) bool {
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(t string) bool { return !w.same(targets[0], t) })
}

// tag returns the tag that a rule describes. Its Verb is empty when the rule
// fits several, and what the rule leaves open is empty.
func (r *Rule) tag() Tag {
	t := Tag{Body: r.Target, Attrs: map[string]string{}}
	if only := r.verbs(); len(only) == 1 {
		t.Verb = only[0]
	}
	maps.Copy(t.Attrs, r.Attrs)
	if part := requiredOf[t.Verb]; part != "" {
		t.Attrs[part] = r.Return + r.Next
	}
	if r.Payload != nil {
		t.Body = *r.Payload
	}
	return t
}
