package protocol

import (
	"maps"
	"slices"
)

// allowsManyForks reports whether the state may write several forks at once.
func (p *Policy) allowsManyForks() bool {
	return p.ManyForks || slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Many })
}

// allows reports whether a policy allows a tag. If it has both the long and the short
// form, both must allow it.
func (p *Policy) allows(states catalog, t Tag) bool {
	if !p.Restricted {
		return true
	}
	if p.Tags != nil && !slices.Contains(p.Tags, t.Verb) {
		return false
	}
	if p.Targets != nil && !inTargets(states, p.Targets, t) {
		return false
	}
	return p.Allowed == nil && (p.Tags != nil || p.Targets != nil) ||
		slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.fits(states, t) })
}

// inTargets reports whether every state that a tag names is in the list.
func inTargets(states catalog, targets []string, t Tag) bool {
	listed := func(name string) bool {
		return slices.ContainsFunc(targets, func(target string) bool { return states.same(target, name) })
	}
	if t.Verb != Result && !listed(t.Body) {
		return false
	}
	part := requiredOf[t.Verb]
	return part == "" || listed(t.Attrs[part])
}

// fits reports whether a tag matches a rule on every key that the rule names.
func (r *Rule) fits(states catalog, t Tag) bool {
	switch {
	case r.Tag != "" && r.Tag != t.Verb,
		r.Target != "" && (t.Verb == Result || !states.same(r.Target, t.Body)),
		r.Payload != nil && (t.Verb != Result || *r.Payload != t.Body),
		r.Many && t.Verb != Fork,
		r.Return != "" && !t.hasState(states, "return", r.Return),
		r.Next != "" && !t.hasState(states, "next", r.Next):
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
func (t Tag) hasState(states catalog, part, state string) bool {
	return requiredOf[t.Verb] == part && states.same(state, t.Attrs[part])
}

// implicit returns the tag that a message without a tag means: the only one that the
// policy allows, if that leaves nothing open.
func (p *Policy) implicit(states catalog) (Tag, bool) {
	var t Tag
	switch {
	case len(p.Allowed) == 1:
		t = p.Allowed[0].tag()
	case p.Allowed == nil && len(p.Tags) == 1 && areOne(states, p.Targets):
		t = Tag{Verb: p.Tags[0], Body: p.Targets[0]}
	default:
		return Tag{}, false
	}
	part := requiredOf[t.Verb]
	switch {
	case t.Verb == "":
		return Tag{}, false
	case t.Verb == Result:
		return t, len(p.Allowed) == 1 && p.Allowed[0].Payload != nil && p.allows(states, t)
	}
	complete := t.Body != "" && (part == "" || t.Attrs[part] != "")
	return t, complete && p.allows(states, t)
}

// areOne reports whether a list of targets names exactly one state.
func areOne(states catalog, targets []string) bool {
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(t string) bool { return !states.same(targets[0], t) })
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
