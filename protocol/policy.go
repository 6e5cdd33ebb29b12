package protocol

import (
	"maps"
	"slices"
)

// AllowsManyForks reports whether the state may write several forks at once.
func (p *Transitions) AllowsManyForks() bool {
	return p.ManyForks || slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Many })
}

// allows reports whether the policy of a prompt allows a tag.
func (p *Transitions) allows(states catalog, t Tag) bool {
	return p.allowsAs(states, t, func(Rule) Tag { return t })
}

// allowsAs is allows for a tag of which not all is known; as returns what is compared with a rule.
// If the policy has both the long and the short form, both must allow the tag. Who is asked, and
// where, is only for entries of the long form to say.
func (p *Transitions) allowsAs(states catalog, t Tag, as func(Rule) Tag) bool {
	if !p.Restricted {
		return !t.isAddressed()
	}
	if p.Tags != nil && !slices.Contains(p.Tags, t.Verb) {
		return false
	}
	if p.Targets != nil {
		one := slices.Concat(p.Targets, []string{""})[0]
		if !inTargets(states, p.Targets, as(Rule{States: map[string]string{partTarget: one, partReturn: one, partNext: one}})) {
			return false
		}
	}
	return p.isShort() && !t.isAddressed() ||
		slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.fits(states, as(r)) })
}

// isShort reports whether the policy has the short form alone.
func (p *Transitions) isShort() bool { return p.Allowed == nil && (p.Tags != nil || p.Targets != nil) }

// inTargets reports whether every state that a tag names is in the list.
func inTargets(states catalog, targets []string, t Tag) bool {
	isForeign := func(part StatePart) bool {
		return !slices.ContainsFunc(targets, func(target string) bool { return states.same(target, part.State) })
	}
	if part := requiredOf[t.Verb]; part != "" && t.Attrs[part] == "" {
		return false
	}
	return !slices.ContainsFunc(t.StateParts(), isForeign)
}

// fits reports whether a tag matches a rule on every key that the rule names.
func (r *Rule) fits(states catalog, t Tag) bool {
	switch {
	case r.Tag != t.Verb && (r.Tag != "" || t.Verb.MustBeNamed()),
		r.Payload != nil && (t.Verb != Result || *r.Payload != t.Body),
		r.Many && t.Verb != Fork:
		return false
	}
	for name, value := range r.Attrs {
		if got, ok := t.Attrs[name]; !ok || got != value {
			return false
		}
	}
	for _, name := range t.addressing() {
		if _, spelled := r.Attrs[name]; !spelled {
			return false
		}
	}
	return r.fitsStates(states, t)
}

// fitsStates reports whether a tag names the states that a rule names.
func (r *Rule) fitsStates(states catalog, t Tag) bool {
	named := map[string]string{}
	for _, part := range t.StateParts() {
		named[part.Name] = part.State
	}
	for part, state := range r.States {
		if !states.same(state, named[part]) {
			return false
		}
	}
	return true
}

// implicit returns the tag that a message without a tag means: the only one that the
// policy allows, if that leaves nothing open.
func (p *Transitions) implicit(states catalog) (Tag, bool) {
	var t Tag
	switch {
	case len(p.Allowed) == 1:
		t = p.Allowed[0].Described()
	case p.Allowed == nil && len(p.Tags) == 1 && areOne(states, p.Targets):
		t = Tag{Verb: p.Tags[0], Body: p.Targets[0]}
	default:
		return Tag{}, false
	}
	part := requiredOf[t.Verb]
	switch {
	case t.Verb == "" || t.Verb == Ask:
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

// Described returns the tag that a rule describes. Its Verb is empty when the rule
// fits several, and what the rule leaves open is empty.
func (r *Rule) Described() Tag {
	if only := r.verbs(); len(only) == 1 {
		return r.as(only[0])
	}
	return r.as("")
}

// as is tag for one of the verbs that the rule fits.
func (r *Rule) as(v Verb) Tag {
	t := Tag{Verb: v, Body: r.States[partTarget], Attrs: map[string]string{}}
	maps.Copy(t.Attrs, r.Attrs)
	if part := requiredOf[v]; part != "" {
		t.Attrs[part] = r.States[part]
	}
	if next := r.States[partTimeoutNext]; next != "" {
		t.Attrs[partTimeoutNext] = next
	}
	if r.Payload != nil {
		t.Body = *r.Payload
	}
	return t
}
