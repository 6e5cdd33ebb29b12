package protocol

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// readTags reads allowed_tags: the verbs that the agent may use.
func (v value) readTags() {
	if v.node.Kind != yaml.SequenceNode {
		v.problem("wrong-type", "allowed_tags is %s, not a list", Describe(v.node)).Hint = "write allowed_tags: [goto, result]"
		return
	}
	tags := []Verb{}
	for _, item := range v.node.Content {
		if verb, ok := v.entry("an entry of allowed_tags", item).verb(); ok && !slices.Contains(tags, verb) {
			tags = append(tags, verb)
		}
	}
	v.state.Policy.Transitions.Tags = tags
}

// readTargets reads allowed_targets: the states that the agent may name.
func (v value) readTargets() {
	targets, _ := v.texts()
	for i, target := range targets {
		targets[i] = strings.TrimSpace(target)
		v.entry(roleTarget, v.node.Content[i]).refer(target)
	}
	v.state.Policy.Transitions.Targets = targets
}

// readRules reads allowed_transitions.
func (v value) readRules() {
	if v.node.Kind != yaml.SequenceNode {
		v.problem("wrong-type", "allowed_transitions is %s, not a list", Describe(v.node)).Hint =
			"write - {tag: goto, target: STATE}"
		return
	}
	rules := []Rule{}
	for _, item := range v.node.Content {
		entry := v.entry("an entry of allowed_transitions", item)
		if item.Kind != yaml.MappingNode {
			entry.problem("wrong-type", "%s is %s, not a map", entry.name, Describe(item)).Hint = "write {tag: goto, target: STATE}"
			continue
		}
		rules = append(rules, entry.rule())
	}
	v.state.Policy.Transitions.Allowed = rules
}

// ruleKeys are the keys of an entry of allowed_transitions. An entry may also contain the
// attributes of its tag.
var ruleKeys = []string{"tag", "target", "return", "next", "payload", "many"}

// rule reads an entry of allowed_transitions. It adds a problem for every key and value that the
// entry's tag can't have.
func (v value) rule() Rule {
	r := Rule{States: map[string]string{}, Pos: PosOf(v.node)}
	if tag := MapValue(v.node, "tag"); tag != nil { // read before the other keys, which depend on it
		r.Tag, _ = v.entry("tag", tag).verb()
	}
	for i := 0; i < len(v.node.Content); i += 2 {
		if key := v.node.Content[i]; key.Value != "tag" && v.state.checkKey(key) {
			r.set(v.entry(key.Value, v.node.Content[i+1]))
		}
	}
	possible := r.verbs()
	for i := 0; i < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		if !r.takes(key.Value) {
			of := "a transition"
			if r.Tag != "" {
				of = "<" + string(r.Tag) + ">"
			}
			problem := v.entry(key.Value, key).problem("wrong-value", "%s has no %s", of, Quote(key.Value))
			if !slices.Contains(ruleKeys, key.Value) {
				problem.Hint = DidYouMean(key.Value, slices.Concat(ruleKeys, attributesOf[r.Tag]))
			}
		}
		if text, ok := r.Attrs[key.Value]; ok && len(possible) == 1 {
			if why := checkAttributeValue(possible[0], key.Value, text); why != "" {
				v.entry(key.Value, node).problem("wrong-value", "%s", why)
			}
		}
	}
	if why := checkAuthor(r.Attrs); why != "" && r.Tag == Ask {
		v.problem("wrong-value", "%s", why)
	}
	if len(possible) == 0 {
		v.problem("wrong-value", "no transition has everything that this entry names")
	}
	return r
}

// set reads the value of one key of an allowed_transitions entry into the rule's field for that key.
func (r *Rule) set(v value) {
	isState := r.Tag == Ask && v.name == roleTimeoutNext
	switch v.name {
	case "payload":
		if text, ok := v.anyText(); ok {
			r.Payload = &text
		}
		return
	case "many":
		r.Many = v.boolean()
		return
	case roleTarget, roleReturn, roleNext:
		isState = true
	}
	if isState {
		if text, ok := v.text(); ok {
			r.States[v.name] = strings.TrimSpace(text)
			v.refer(text)
		}
	} else if text, ok := r.attribute(v); ok {
		if r.Attrs == nil {
			r.Attrs = map[string]string{}
		}
		r.Attrs[v.name] = text
	}
}

// attribute reads the value of an attribute. In an entry for an ask, a number or a boolean may
// be written without quotes.
func (r *Rule) attribute(v value) (string, bool) {
	tag := v.node.ShortTag()
	if r.Tag == Ask && (v.name == "where" && tag == "!!int" || v.name == "untrusted" && tag == "!!bool") {
		return strings.ToLower(v.node.Value), true
	}
	return v.anyText()
}

// verbs returns the verbs that the rule may allow: the rule's tag or, if the rule names no tag,
// every verb that suits its keys, except join and ask.
func (r *Rule) verbs() []Verb {
	if r.Tag != "" {
		return []Verb{r.Tag}
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v Verb) bool { return v.MustBeNamed() || !r.suitsVerb(v) })
}

// suitsVerb reports whether an entry for this verb can contain every key of the rule.
func (r *Rule) suitsVerb(v Verb) bool {
	if r.Payload != nil && v != Result || r.Many && v != Fork {
		return false
	}
	for role := range r.States {
		if !v.namesState(role) {
			return false
		}
	}
	for name := range r.Attrs {
		if checkAttribute(v, name) != "" {
			return false
		}
	}
	return true
}

// takes reports whether an entry with this rule's tag can contain the key.
func (r *Rule) takes(key string) bool {
	lower := strings.ToLower(key)
	switch {
	case key == "tag":
		return true
	case lower != key && slices.Contains(ruleKeys, lower): // a known key in upper case
		return false
	case r.Tag == "":
		return slices.Contains(ruleKeys, key) || isVariable(key)
	case key == "target":
		return r.Tag.HasTarget()
	case key == "payload":
		return r.Tag == Result
	case key == "many":
		return r.Tag == Fork
	}
	return checkAttribute(r.Tag, key) == ""
}
