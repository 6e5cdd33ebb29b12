package protocol

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// permissionRanks are the permission modes of the agent CLI, by how much each
// allows.
var permissionRanks = map[string]int{
	"plan": 0, "default": 1, "dontAsk": 1, "acceptEdits": 2, "auto": 3, "bypassPermissions": 4,
}

var permissionModes = []string{"plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}

// PermissionRank returns how much a permission mode allows: a higher rank allows
// more. It returns false for a name that is no mode.
func PermissionRank(mode string) (int, bool) {
	rank, ok := permissionRanks[mode]
	return rank, ok
}

func (f *front) permissionMode(n *yaml.Node) {
	if mode, ok := f.choice("permission_mode", n, permissionModes); ok {
		f.state.Policy.PermissionMode = mode
	}
}

func (f *front) model(n *yaml.Node)   { f.text("model", n, &f.state.Policy.Model) }
func (f *front) effort(n *yaml.Node)  { f.text("effort", n, &f.state.Policy.Effort) }
func (f *front) timeout(n *yaml.Node) { f.optionalDuration("timeout", n, &f.state.Policy.Timeout) }
func (f *front) idleTimeout(n *yaml.Node) {
	f.optionalDuration("idle_timeout", n, &f.state.Policy.IdleTimeout)
}
func (f *front) allowedTools(n *yaml.Node) { f.texts("allowed_tools", n, &f.state.Policy.AllowedTools) }
func (f *front) disallowedTools(n *yaml.Node) {
	f.texts("disallowed_tools", n, &f.state.Policy.DisallowedTools)
}

func (f *front) allowedTags(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.fault(n, "wrong-type", "allowed_tags is %s, not a list", describe(n)).Hint = "write allowed_tags: [goto, result]"
		return
	}
	tags := []Verb{}
	for _, item := range n.Content {
		if v, ok := f.verb("an entry of allowed_tags", item); ok && !slices.Contains(tags, v) {
			tags = append(tags, v)
		}
	}
	f.state.Policy.Tags = tags
}

// verb reads the name of a tag.
func (f *front) verb(key string, n *yaml.Node) (Verb, bool) {
	words := make([]string, len(verbs))
	for i, v := range verbs {
		words[i] = string(v)
	}
	s, ok := f.choice(key, n, words)
	return Verb(s), ok
}

func (f *front) allowedTargets(n *yaml.Node) {
	if !f.texts("allowed_targets", n, &f.state.Policy.Targets) {
		return
	}
	for i, target := range f.state.Policy.Targets {
		f.state.Policy.Targets[i] = strings.TrimSpace(target)
		f.state.refer(Reference{Part: "target", Name: target, Pos: posOf(n.Content[i]), Policy: true})
	}
}

func (f *front) allowedTransitions(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		f.fault(n, "wrong-type", "allowed_transitions is %s, not a list", describe(n)).Hint =
			"write - {tag: goto, target: STATE}"
		return
	}
	f.state.Policy.Allowed = []Rule{}
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode {
			f.fault(item, "wrong-type", "an entry of allowed_transitions is %s, not a map", describe(item)).Hint =
				"write {tag: goto, target: STATE}"
			continue
		}
		f.rule(item)
	}
}

// ruleKeys are what an entry of allowed_transitions may say beside attributes.
var ruleKeys = []string{"tag", "target", "return", "next", "payload", "many"}

// rule reads one entry of allowed_transitions.
func (f *front) rule(n *yaml.Node) {
	r := Rule{Pos: posOf(n)}
	before := len(f.state.References)
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; f.isName(key) {
			f.ruleKey(&r, key, n.Content[i+1])
		}
	}
	for i := 0; i < len(n.Content); i += 2 {
		f.checkRuleKey(&r, n.Content[i])
	}
	if len(r.verbs()) == 0 {
		f.fault(n, "wrong-value", "no transition has all that this entry names")
	}
	for i := range f.state.References[before:] {
		f.state.References[before+i].Verb = r.Tag
	}
	f.state.Policy.Allowed = append(f.state.Policy.Allowed, r)
}

// checkRuleKey notes a key that the tag of the entry can't have.
func (f *front) checkRuleKey(r *Rule, key *yaml.Node) {
	if r.takes(key.Value) || isWrongCase(key.Value) {
		return
	}
	problem := f.fault(key, "wrong-value", "%s has no %s", r.name(), quote(key.Value))
	if !slices.Contains(ruleKeys, key.Value) {
		problem.Hint = didYouMean(key.Value, slices.Concat(ruleKeys, attributesOf[r.Tag]))
	}
}

// isWrongCase reports whether a key of an entry differs from one of ours in
// nothing but case.
func isWrongCase(key string) bool {
	lower := strings.ToLower(key)
	return lower != key && slices.Contains(ruleKeys, lower)
}

func (f *front) ruleKey(r *Rule, key, value *yaml.Node) {
	switch key.Value {
	case "tag":
		r.Tag, _ = f.verb("tag", value)
	case "target":
		f.ruleState("target", value, &r.Target)
	case "return":
		f.ruleState("return", value, &r.Return)
	case "next":
		f.ruleState("next", value, &r.Next)
	case "payload":
		if f.isText("payload", value) {
			r.Payload = &value.Value
		}
	case "many":
		f.boolean("many", value, &r.Many)
	default:
		f.ruleAttribute(r, key, value)
	}
}

// ruleState reads the name of a state in an entry.
func (f *front) ruleState(part string, n *yaml.Node, to *string) {
	if f.text(part, n, to) {
		*to = strings.TrimSpace(*to)
		f.state.refer(Reference{Part: part, Name: *to, Pos: posOf(n), Policy: true})
	}
}

func (f *front) ruleAttribute(r *Rule, key, value *yaml.Node) {
	if isWrongCase(key.Value) {
		f.fault(key, "wrong-case", "unknown key %s", quote(key.Value)).Hint = "write " + strings.ToLower(key.Value)
		return
	}
	if !f.isText(key.Value, value) {
		return
	}
	if r.Attrs == nil {
		r.Attrs = map[string]string{}
	}
	r.Attrs[key.Value] = value.Value
}

// verbs returns the tags that an entry may allow.
func (r *Rule) verbs() []Verb {
	if r.Tag != "" {
		return []Verb{r.Tag}
	}
	return slices.DeleteFunc(slices.Clone(verbs), func(v Verb) bool { return !r.suitsVerb(v) })
}

// suitsVerb reports whether a tag can have all that the entry names.
func (r *Rule) suitsVerb(v Verb) bool {
	if r.Payload != nil && v != Result || r.Target != "" && v == Result || r.Many && v != Fork {
		return false
	}
	if r.Return != "" && requiredOf[v] != "return" || r.Next != "" && v != Fork {
		return false
	}
	for name := range r.Attrs {
		if faultOfName(v, name) != "" {
			return false
		}
	}
	return true
}

// takes reports whether the tag of the entry can have the key.
func (r *Rule) takes(key string) bool {
	switch {
	case key == "tag":
		return true
	case r.Tag == "":
		return slices.Contains(ruleKeys, key) || isVariable(key)
	case key == "target":
		return r.Tag != Result
	case key == "payload":
		return r.Tag == Result
	case key == "many":
		return r.Tag == Fork
	}
	return faultOfName(r.Tag, key) == ""
}

func (r *Rule) name() string {
	if r.Tag == "" {
		return "a transition"
	}
	return "<" + string(r.Tag) + ">"
}
