package protocol

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits on a frontmatter, far above what a workflow needs.
const (
	maxFront = 64 << 10 // bytes
	maxNodes = 20_000
	maxDepth = 50
)

func isKey(name string) bool { return slices.Contains(keys, name) }

// isOwnKey reports whether a key means that a file is a state of ours: other
// tools that read frontmatter don't have it.
func isOwnKey(name string) bool {
	switch name {
	case "done_when", "max_attempts", "max_ralph_iters", "on_exhausted", "permission_mode", "disallowed_tools", "result_schema":
		return true
	}
	return strings.HasPrefix(name, "allowed_") && isKey(name)
}

// parseFrontmatter reads the text between the --- lines into the policy.
func (s *State) parseFrontmatter(text string) {
	if len(text) > maxFront {
		s.addProblem(Pos{Line: 1}, "frontmatter", "the frontmatter is over %d KiB", maxFront>>10)
		return
	}
	// The empty line replaces the opening ---, so that line numbers are those of the file.
	root, line, err := ParseYAML("\n" + text)
	if err != nil {
		s.claim(text)
		s.addProblem(Pos{Line: line}, "yaml", "malformed YAML: %v", err)
		return
	}
	tree := expander{state: s, left: maxNodes}
	if root = tree.expand(root, 0); root == nil || isNull(root) {
		s.claim(text)
		return
	}
	if root.Kind != yaml.MappingNode {
		s.addProblem(posOf(root), "wrong-type", "the frontmatter is %s, not a map of keys", describe(root))
		return
	}
	f := front{state: s, seen: map[string]*yaml.Node{}, convergence: NewConvergence(nil)}
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; s.checkKey(key) {
			f.read(key, root.Content[i+1])
		}
	}
	f.finish()
}

// claim notes which keys the lines of a frontmatter name that can't be read.
func (s *State) claim(text string) {
	s.Claims.Keyed = s.Claims.Keyed || namesKey(text, isKey)
	s.Claims.Owned = s.Claims.Owned || namesKey(text, isOwnKey)
}

// namesKey reports whether a line of a frontmatter names one of some keys.
func namesKey(text string, is func(key string) bool) bool {
	for line := range strings.Lines(text) {
		if is(keyOf(line)) {
			return true
		}
	}
	return false
}

// keyOf returns the key that a line of YAML begins with, in lower case.
func keyOf(line string) string {
	key, _, ok := strings.Cut(line, ":")
	if !ok {
		return ""
	}
	return strings.ToLower(strings.Trim(key, " \t\"'{"))
}

// checkKey reports whether a key is a plain string, and adds a problem if not.
func (s *State) checkKey(key *yaml.Node) bool {
	switch {
	case key.ShortTag() == "!!merge":
		s.addProblem(posOf(key), "wrong-type", "merge keys (<<) have no meaning here").Hint = "write the keys out"
	case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
		s.addProblem(posOf(key), "wrong-type", "a key is %s, not a string", describe(key))
	default:
		return true
	}
	return false
}

// front reads the keys of a frontmatter.
type front struct {
	state       *State
	seen        map[string]*yaml.Node // the known keys that are set
	convergence Convergence
}

// otherSpelling has the keys that have two names.
var otherSpelling = map[string]string{"max_attempts": "max_ralph_iters", "max_ralph_iters": "max_attempts"}

// read reads one key.
func (f *front) read(key, node *yaml.Node) {
	s, name, lower := f.state, key.Value, strings.ToLower(key.Value)
	s.Claims.Keyed = s.Claims.Keyed || isKey(lower)
	s.Claims.Owned = s.Claims.Owned || isOwnKey(lower)
	known, pos := isKey(name), posOf(key)
	if known {
		f.seen[name] = key
	}
	switch {
	case known && isNull(node):
		s.addProblem(pos, "wrong-type", "%s has no value", name)
	case known && f.seen[otherSpelling[name]] != nil:
		s.addProblem(posOf(node), "duplicate-key", "max_attempts and max_ralph_iters are the same key").Hint = "write max_attempts only"
	case known:
		keyReaders[name](f, value{state: s, name: name, node: node})
	case isKey(lower):
		s.addProblem(pos, "wrong-case", "unknown key %s", Quote(name)).Hint = "write " + lower
	default:
		s.addWarning(pos, "unknown-key", "unknown key %s", Quote(name)).Hint = DidYouMean(name, slices.Sorted(slices.Values(keys)))
	}
}

// finish decides what depends on several keys.
func (f *front) finish() {
	s, p := f.state, &f.state.Policy.Transitions
	transitions, tags, targets := f.seen["allowed_transitions"], f.seen["allowed_tags"], f.seen["allowed_targets"]
	p.Restricted = transitions != nil || tags != nil || targets != nil
	if len(s.Problems) == 0 && (transitions != nil && len(p.Allowed) == 0 || tags != nil && len(p.Tags) == 0) {
		s.addWarning(posOf(cmp.Or(transitions, tags)), "nothing-allowed", "no transition is allowed, so the state can't end")
	}
	if f.convergence.DoneWhen != nil {
		s.Policy.Convergence = &f.convergence
	}
	for _, name := range keys {
		key := f.seen[name]
		if slices.Contains(convergenceKeys, name) && key != nil && f.seen["done_when"] == nil {
			s.addWarning(posOf(key), "no-done-when", "%s has no effect without done_when", name)
		}
	}
}

// keyReaders read the values of the keys.
var keyReaders = map[string]func(*front, value){
	"allowed_transitions": func(f *front, v value) { f.state.readRules(v) },
	"allowed_tags":        func(f *front, v value) { f.state.readTags(v) },
	"allowed_targets":     func(f *front, v value) { f.state.readTargets(v) },

	"agent":            func(f *front, v value) { f.state.Policy.Backend, _ = v.choice(Backends()) },
	"model":            func(f *front, v value) { f.state.Policy.Model, _ = v.text() },
	"effort":           func(f *front, v value) { f.state.Policy.Effort, _ = v.text() },
	"timeout":          func(f *front, v value) { f.state.Policy.Timeout = v.optionalDuration() },
	"idle_timeout":     func(f *front, v value) { f.state.Policy.IdleTimeout = v.optionalDuration() },
	"permission_mode":  func(f *front, v value) { f.state.Policy.PermissionMode, _ = v.choice(permissionModes) },
	"allowed_tools":    func(f *front, v value) { f.state.Policy.AllowedTools, _ = v.texts() },
	"disallowed_tools": func(f *front, v value) { f.state.Policy.DisallowedTools, _ = v.texts() },

	"done_when":         func(f *front, v value) { f.convergence.readDoneWhen(v) },
	"max_attempts":      func(f *front, v value) { f.convergence.MaxAttempts = v.count(maxAttemptsCap) },
	"max_ralph_iters":   func(f *front, v value) { f.convergence.MaxAttempts = v.count(maxAttemptsCap) },
	"backoff":           func(f *front, v value) { f.convergence.readBackoff(v) },
	"attempt_context":   func(f *front, v value) { f.convergence.AttemptContext, _ = v.choice(attemptContexts) },
	"done_when_timeout": func(f *front, v value) { f.convergence.Timeout, _ = v.duration() },
	"on_exhausted":      func(f *front, v value) { f.convergence.readOnExhausted(v) },
	"protect":           func(f *front, v value) { f.convergence.readProtect(v) },

	keyResultSchema: func(f *front, v value) { f.state.readSchema(v) },
	keyInputSchema:  func(f *front, v value) { f.state.readSchema(v) },

	"job":         func(f *front, v value) { f.state.readJob(v) },
	partOnComment: func(f *front, v value) { f.state.readOnComment(v) },
}

// convergenceKeys are those that mean nothing without done_when.
var convergenceKeys = []string{"max_attempts", "max_ralph_iters", "backoff", "attempt_context", "done_when_timeout", "on_exhausted", "protect"}

// permissionRanks are the permission modes of the agent CLI, by how much each
// allows.
var permissionRanks = map[string]int{
	"plan": 0, "default": 1, "dontAsk": 1, "acceptEdits": 2, "auto": 3, "bypassPermissions": 4,
}

var permissionModes = []string{"plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}

// PermissionRank returns how much a permission mode allows: a higher rank allows
// more. It returns false for a name that is not a mode.
func PermissionRank(mode string) (int, bool) {
	rank, ok := permissionRanks[mode]
	return rank, ok
}
