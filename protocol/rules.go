package protocol

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// readTags, readTargets and readRules read what an agent may do at the end of a state.
func (s *State) readTags(v value) {
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
	s.Policy.Transitions.Tags = tags
}

func (s *State) readTargets(v value) {
	targets, _ := v.texts()
	for i, target := range targets {
		targets[i] = strings.TrimSpace(target)
		s.refer("target", target, PosOf(v.node.Content[i]))
	}
	s.Policy.Transitions.Targets = targets
}

func (s *State) readRules(v value) {
	if v.node.Kind != yaml.SequenceNode {
		v.problem("wrong-type", "allowed_transitions is %s, not a list", Describe(v.node)).Hint =
			"write - {tag: goto, target: STATE}"
		return
	}
	rules := []Rule{}
	for _, item := range v.node.Content {
		if item.Kind != yaml.MappingNode {
			s.addProblem(PosOf(item), "wrong-type", "an entry of allowed_transitions is %s, not a map", Describe(item)).Hint =
				"write {tag: goto, target: STATE}"
			continue
		}
		r := ruleReader{state: s, rule: Rule{States: map[string]string{}, Pos: PosOf(item)}}
		rules = append(rules, r.read(item))
	}
	s.Policy.Transitions.Allowed = rules
}

// ruleKeys are what an entry of allowed_transitions may say beside attributes.
var ruleKeys = []string{"tag", "target", "return", "next", "payload", "many"}

// ruleReader reads one entry of allowed_transitions.
type ruleReader struct {
	state *State
	rule  Rule
}

func (r *ruleReader) read(n *yaml.Node) Rule {
	for _, isTag := range []bool{true, false} { // what the others may be depends on the tag
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i]; (key.Value == "tag") == isTag && r.state.checkKey(key) {
				r.set(value{state: r.state, name: key.Value, node: n.Content[i+1]})
			}
		}
	}
	for i := 0; i < len(n.Content); i += 2 {
		r.checkTakes(n.Content[i])
		r.checkValue(n.Content[i], n.Content[i+1])
	}
	if why := namesAuthor(r.rule.Attrs); why != "" && r.rule.Tag == Ask {
		r.state.addProblem(PosOf(n), "wrong-value", "%s", why)
	}
	if len(r.rule.verbs()) == 0 {
		r.state.addProblem(PosOf(n), "wrong-value", "no transition has everything that this entry names")
	}
	return r.rule
}

func (r *ruleReader) set(v value) {
	switch v.name {
	case "tag":
		r.rule.Tag, _ = v.verb()
	case partTarget, partReturn, partNext:
		r.setState(v)
	case "payload":
		if text, ok := v.anyText(); ok {
			r.rule.Payload = &text
		}
	case "many":
		r.rule.Many = v.boolean()
	default:
		r.setAttribute(v)
	}
}

// setState reads the name of a state.
func (r *ruleReader) setState(v value) {
	if text, ok := v.text(); ok {
		r.rule.States[v.name] = strings.TrimSpace(text)
		r.state.refer(v.name, text, PosOf(v.node))
	}
}

func (r *ruleReader) setAttribute(v value) {
	if r.rule.Tag == Ask && v.name == partTimeoutNext {
		r.setState(v)
		return
	}
	text, ok := r.attributeText(v)
	if !ok {
		return
	}
	if r.rule.Attrs == nil {
		r.rule.Attrs = map[string]string{}
	}
	r.rule.Attrs[v.name] = text
}

// attributeText reads the value of an attribute. Those of an ask that are a number, true or
// false may be written so.
func (r *ruleReader) attributeText(v value) (string, bool) {
	tag := v.node.ShortTag()
	if r.rule.Tag == Ask && (v.name == "where" && tag == "!!int" || v.name == "untrusted" && tag == "!!bool") {
		return strings.ToLower(v.node.Value), true
	}
	return v.anyText()
}

// checkValue adds a problem for a value with which no tag of the entry can be right.
func (r *ruleReader) checkValue(key, node *yaml.Node) {
	text, ok := r.rule.Attrs[key.Value]
	verb := r.rule.Tag
	if can := r.rule.verbs(); len(can) == 1 {
		verb = can[0]
	}
	if why := checkAttributeValue(verb, key.Value, text); ok && why != "" {
		r.state.addProblem(PosOf(node), "wrong-value", "%s", why)
	}
}

// checkTakes adds a problem for a key that the tag of the entry can't have.
func (r *ruleReader) checkTakes(key *yaml.Node) {
	if r.rule.takes(key.Value) {
		return
	}
	problem := r.state.addProblem(PosOf(key), "wrong-value", "%s has no %s", r.rule.name(), Quote(key.Value))
	if !slices.Contains(ruleKeys, key.Value) {
		problem.Hint = DidYouMean(key.Value, slices.Concat(ruleKeys, attributesOf[r.rule.Tag]))
	}
}

// verbs returns the tags that an entry may allow.
func (r *Rule) verbs() []Verb {
	if r.Tag != "" {
		return []Verb{r.Tag}
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v Verb) bool { return v.MustBeNamed() || !r.suitsVerb(v) })
}

// suitsVerb reports whether a tag can have all that the entry names.
func (r *Rule) suitsVerb(v Verb) bool {
	if r.Payload != nil && v != Result || r.Many && v != Fork {
		return false
	}
	for part := range r.States {
		if !v.namesState(part) {
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

// takes reports whether the tag of the entry can have the key.
func (r *Rule) takes(key string) bool {
	lower := strings.ToLower(key)
	switch {
	case key == "tag":
		return true
	case lower != key && slices.Contains(ruleKeys, lower): // in the wrong case
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

func (r *Rule) name() string {
	if r.Tag == "" {
		return "a transition"
	}
	return "<" + string(r.Tag) + ">"
}
