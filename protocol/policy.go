package protocol

import (
	"maps"
	"slices"
)

// AllowsManyForks reports whether a message of the state may contain several forks.
func (p *Transitions) AllowsManyForks() bool {
	return p.ManyForks || slices.ContainsFunc(p.Allowed, func(r Rule) bool { return r.Many })
}

// matcher compares tags with the rules in policies. If analysis is nil, the tags are in a final
// message. If analysis is set, the tags are in the text of that state: a name that is known only
// when the state runs then matches every state, and the text of a result matches every payload.
type matcher struct {
	catalog
	analysis *Analysis
}

// isOpen reports whether a state name in a tag is known only when the state runs.
func (m matcher) isOpen(name string) bool { return m.analysis != nil && m.analysis.Target(name).Open }

// allows reports whether the policy of a prompt allows a tag. If the policy has both the long form
// (allowed_transitions) and the short form (allowed_tags, allowed_targets), both must allow the
// tag. Only entries of the long form can allow the attributes that choose who is asked and where.
func (m matcher) allows(p *Transitions, t Tag) bool {
	switch {
	case !p.Restricted:
		return !t.isAddressed()
	case p.Tags != nil && !slices.Contains(p.Tags, t.Verb), p.Targets != nil && !m.inTargets(p.Targets, t):
		return false
	}
	return p.isShort() && !t.isAddressed() || slices.ContainsFunc(p.Allowed, func(r Rule) bool { return m.fits(r, t) })
}

// isShort reports whether the policy has only the short form.
func (p *Transitions) isShort() bool { return p.Allowed == nil && (p.Tags != nil || p.Targets != nil) }

// inTargets reports whether the list contains every state that a tag names. It returns false if
// the tag lacks a state that its verb requires.
func (m matcher) inTargets(targets []string, t Tag) bool {
	isForeign := func(ref StateRef) bool {
		return !m.isOpen(ref.State) && !slices.ContainsFunc(targets, func(target string) bool { return m.same(target, ref.State) })
	}
	role := requiredOf[t.Verb]
	if name, ok := t.Attrs[role]; role != "" && (!ok || name == "" && !m.isOpen(name)) {
		return false
	}
	return !slices.ContainsFunc(t.StateRefs(), isForeign)
}

// fits reports whether a tag matches a rule in every key that the rule contains. A join or an ask
// matches only a rule that names its verb. An addressing attribute of an ask must be in the rule.
func (m matcher) fits(r Rule, t Tag) bool {
	switch {
	case r.Tag != t.Verb && (r.Tag != "" || t.Verb.MustBeNamed()),
		r.Payload != nil && (t.Verb != Result || *r.Payload != t.Body && m.analysis == nil),
		r.Many && t.Verb != Fork:
		return false
	}
	for _, name := range t.addressing() {
		if _, spelled := r.Attrs[name]; !spelled {
			return false
		}
	}
	for name, value := range r.Attrs {
		if got, ok := t.Attrs[name]; !ok || got != value && (m.analysis == nil || !IsOpen(got)) {
			return false
		}
	}
	named := map[string]string{}
	for _, ref := range t.StateRefs() {
		named[ref.Role] = ref.State
	}
	for role, state := range r.States {
		if name, ok := named[role]; !ok || !m.same(state, name) && !m.isOpen(name) {
			return false
		}
	}
	return true
}

// implicit returns the tag that applies to a message without a tag. There is one only if the
// policy allows a single tag and determines it completely; otherwise implicit returns false.
func (m matcher) implicit(p *Transitions) (Tag, bool) {
	var t Tag
	isOther := func(target string) bool { return !m.same(p.Targets[0], target) }
	switch {
	case len(p.Allowed) == 1:
		t = p.Allowed[0].AsTag()
	case p.Allowed == nil && len(p.Tags) == 1 && len(p.Targets) > 0 && !slices.ContainsFunc(p.Targets, isOther):
		t = Tag{Verb: p.Tags[0], Body: p.Targets[0]}
	default:
		return Tag{}, false
	}
	role := requiredOf[t.Verb]
	switch {
	case t.Verb == "" || t.Verb == Ask:
		return Tag{}, false
	case t.Verb == Result:
		return t, len(p.Allowed) == 1 && p.Allowed[0].Payload != nil && m.allows(p, t)
	}
	complete := t.Body != "" && (role == "" || t.Attrs[role] != "")
	return t, complete && m.allows(p, t)
}

// AsTag returns the rule in the form of a tag. The tag's Verb is empty if the rule fits several
// verbs. Anything that the rule leaves open is empty too.
func (r *Rule) AsTag() Tag {
	if only := r.verbs(); len(only) == 1 {
		return r.tagFor(only[0])
	}
	return r.tagFor("")
}

// tagFor returns the rule in the form of a tag with verb v, which is "" or a verb that the rule
// fits.
func (r *Rule) tagFor(v Verb) Tag {
	t := Tag{Verb: v, Body: r.States[roleTarget], Attrs: map[string]string{}}
	maps.Copy(t.Attrs, r.Attrs)
	if role := requiredOf[v]; role != "" {
		t.Attrs[role] = r.States[role]
	}
	if next := r.States[roleTimeoutNext]; next != "" {
		t.Attrs[roleTimeoutNext] = next
	}
	if r.Payload != nil {
		t.Body = *r.Payload
	}
	return t
}
