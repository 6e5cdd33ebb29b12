package protocol

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxFront is the largest size of a frontmatter in bytes. Workflows need far less.
const maxFront = 64 << 10

// key is a key of a frontmatter, or an option of a script. docs/reference.md describes each.
type key struct {
	name string
	read func(value)
	// own marks a key that only this program uses, so that a file with it looks like a state.
	own bool
	// attempts marks a key that has no effect without done_when.
	attempts bool
}

// keys are the keys of a frontmatter, in the order of the documentation.
var keys = []key{
	{name: "allowed_transitions", own: true, read: value.readRules},
	{name: "allowed_tags", own: true, read: value.readTags},
	{name: "allowed_targets", own: true, read: value.readTargets},

	{name: "agent", read: func(v value) { v.state.Policy.Backend, _ = v.choice(Backends()) }},
	{name: "model", read: func(v value) { v.state.Policy.Model = v.model() }},
	{name: "effort", read: func(v value) { v.state.Policy.Effort, _ = v.text() }},
	{name: "timeout", read: func(v value) { v.state.Policy.Timeout = v.optionalDuration() }},
	{name: "idle_timeout", read: func(v value) { v.state.Policy.IdleTimeout = v.optionalDuration() }},
	{name: "permission_mode", own: true, read: func(v value) { v.state.Policy.PermissionMode, _ = v.choice(permissionModes) }},
	{name: "allowed_tools", own: true, read: func(v value) { v.state.Policy.AllowedTools = v.tools() }},
	{name: "disallowed_tools", own: true, read: func(v value) { v.state.Policy.DisallowedTools = v.tools() }},

	{name: "done_when", own: true, read: value.readDoneWhen},
	{name: "max_attempts", own: true, attempts: true, read: func(v value) { v.state.Policy.Convergence.MaxAttempts = v.count(maxAttemptsCap) }},
	{name: "max_ralph_iters", own: true, attempts: true, read: func(v value) { v.state.Policy.Convergence.MaxAttempts = v.count(maxAttemptsCap) }},
	{name: "backoff", attempts: true, read: value.readBackoff},
	{name: "attempt_context", attempts: true, read: func(v value) {
		v.state.Policy.Convergence.AttemptContext, _ = v.choice([]string{"entry", "fresh", "continue"})
	}},
	{name: "done_when_timeout", attempts: true, read: func(v value) { v.state.Policy.Convergence.Timeout, _ = v.duration() }},
	{name: "on_exhausted", own: true, attempts: true, read: value.readOnExhausted},
	{name: "protect", attempts: true, read: value.readProtect},

	{name: keyResultSchema, own: true, read: value.readSchema},
	{name: keyInputSchema, read: value.readSchema},
	{name: "job", read: value.readJob},
	{name: roleOnComment, read: value.readOnComment},
}

// named returns the key with this name from a list, or the zero key if the list doesn't contain
// the name.
func named(keys []key, name string) key {
	if i := slices.IndexFunc(keys, func(k key) bool { return k.name == name }); i >= 0 {
		return keys[i]
	}
	return key{}
}

// parseFrontmatter reads the text between the --- lines into the state's policy. It adds mistakes
// to the state's Problems and Warnings.
func (s *State) parseFrontmatter(text string) {
	if len(text) > maxFront {
		s.addProblem(Pos{Line: 1}, "frontmatter", "the frontmatter is over %d KiB", maxFront>>10)
		return
	}
	// The empty line replaces the opening ---, so that line numbers match the file.
	root, problem := ParseYAML("\n" + text)
	if problem != nil {
		problem.File = s.Name
		s.Problems = append(s.Problems, *problem)
	}
	if root == nil || isNull(root) {
		for line := range strings.Lines(text) {
			s.recordKey(keyOf(line))
		}
		return
	}
	if root.Kind != yaml.MappingNode {
		s.addProblem(PosOf(root), "wrong-type", "the frontmatter is %s, not a map of keys", Describe(root))
		return
	}
	convergence, seen := NewConvergence(nil), map[string]*yaml.Node{} // seen contains the known keys that are set
	s.Policy.Convergence = &convergence
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		if !s.checkKey(key) {
			continue
		}
		name, pos := key.Value, PosOf(key)
		known, meant := named(keys, name), named(keys, strings.ToLower(name))
		s.recordKey(meant)
		switch {
		case known.name != "" && isNull(node):
			s.addProblem(pos, "wrong-type", "%s has no value", name)
		case known.name != "" && seen[otherSpelling[name]] != nil:
			s.addProblem(PosOf(node), "duplicate-key", "max_attempts and max_ralph_iters are the same key").Hint = "write max_attempts only"
		case known.name != "":
			known.read(value{state: s, name: name, node: node})
		case meant.name != "":
			s.addProblem(pos, "wrong-case", "unknown key %s", Quote(name)).Hint = "write " + meant.name
		default:
			s.addWarning(pos, "unknown-key", "unknown key %s", Quote(name)).Hint = DidYouMean(name, slices.Sorted(slices.Values(Keys())))
		}
		if known.name != "" {
			seen[name] = key
		}
	}
	s.finishPolicy(seen)
}

// recordKey records that the frontmatter contains key k, as evidence that the file is a state. It
// ignores the zero key.
func (s *State) recordKey(k key) {
	s.Evidence.HasKnownKey = s.Evidence.HasKnownKey || k.name != ""
	s.Evidence.HasOwnKey = s.Evidence.HasOwnKey || k.own
}

// keyOf returns the known key at the beginning of a line of YAML, in upper or lower case. It
// returns the zero key if the line begins with anything else.
func keyOf(line string) key {
	name, _, _ := strings.Cut(line, ":")
	if name == line {
		return key{}
	}
	return named(keys, strings.ToLower(strings.Trim(name, " \t\"'{")))
}

// checkKey reports whether a key is a plain string, and adds a problem if not.
func (s *State) checkKey(key *yaml.Node) bool {
	switch {
	case key.ShortTag() == "!!merge":
		s.addProblem(PosOf(key), "wrong-type", "merge keys (<<) have no meaning here").Hint = "write the keys out"
	case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
		s.addProblem(PosOf(key), "wrong-type", "a key is %s, not a string", Describe(key))
	default:
		return true
	}
	return false
}

// otherSpelling maps each key that has two spellings to its other spelling.
var otherSpelling = map[string]string{"max_attempts": "max_ralph_iters", "max_ralph_iters": "max_attempts"}

// finishPolicy sets the fields of the policy that depend on several keys, and warns about keys
// that have no effect. seen contains all known keys of the frontmatter.
func (s *State) finishPolicy(seen map[string]*yaml.Node) {
	p := &s.Policy.Transitions
	transitions, tags, targets := seen["allowed_transitions"], seen["allowed_tags"], seen["allowed_targets"]
	p.Restricted = transitions != nil || tags != nil || targets != nil
	if len(s.Problems) == 0 && (transitions != nil && len(p.Allowed) == 0 || tags != nil && len(p.Tags) == 0) {
		s.addWarning(PosOf(cmp.Or(transitions, tags)), "nothing-allowed", "no transition is allowed, so the state can't end")
	}
	if s.Policy.Convergence.DoneWhen == nil {
		s.Policy.Convergence = nil
	}
	for _, k := range keys {
		if at := seen[k.name]; k.attempts && at != nil && seen["done_when"] == nil {
			s.addWarning(PosOf(at), "no-done-when", "%s has no effect without done_when", k.name)
		}
	}
}

// permissionRanks ranks the permission modes of agent CLIs by how much each allows.
var permissionRanks = map[string]int{
	"plan": 0, "default": 1, "dontAsk": 1, "acceptEdits": 2, "auto": 3, "bypassPermissions": 4,
}

// permissionModes lists the permission modes, beginning with the strictest.
var permissionModes = []string{"plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}

// PermissionRank returns how much a permission mode allows. A higher rank allows more. An unknown
// mode has rank 0, the lowest.
func PermissionRank(mode string) int { return permissionRanks[mode] }

// Keys returns the keys that a frontmatter may contain.
func Keys() []string { return namesOf(keys) }

// namesOf returns the names of the keys in a list.
func namesOf(list []key) (names []string) {
	for _, k := range list {
		names = append(names, k.name)
	}
	return names
}

// EntryKeys returns the keys of an entry of allowed_transitions. An entry may also contain the
// attributes of its tag.
func EntryKeys() []string { return slices.Clone(ruleKeys) }

// ScriptOptions returns the options that a comment in a script may set.
func ScriptOptions() []string { return namesOf(scriptOptions) }

// Attributes returns the attributes of a tag, the required one first. A fork may have other
// attributes too, which become variables of the new agent.
func Attributes(v Verb) []string { return slices.Clone(attributesOf[v]) }

// PermissionModes returns the permission modes, beginning with the strictest.
func PermissionModes() []string { return slices.Clone(permissionModes) }
