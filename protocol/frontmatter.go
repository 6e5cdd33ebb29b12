package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// front reads the frontmatter of one state.
type front struct {
	state *State
	left  int                   // nodes that may still be read, aliases expanded
	seen  map[string]*yaml.Node // the known keys that are set
	loop  Convergence
}

// Limits on a frontmatter, far above what a workflow needs.
const (
	maxFront = 64 << 10 // bytes
	maxNodes = 20_000
	maxDepth = 50
)

// keys are what a frontmatter may say.
var keys = map[string]func(*front, *yaml.Node){
	"allowed_transitions": (*front).allowedTransitions,
	"allowed_tags":        (*front).allowedTags,
	"allowed_targets":     (*front).allowedTargets,
	"model":               (*front).model,
	"effort":              (*front).effort,
	"timeout":             (*front).timeout,
	"idle_timeout":        (*front).idleTimeout,
	"permission_mode":     (*front).permissionMode,
	"allowed_tools":       (*front).allowedTools,
	"disallowed_tools":    (*front).disallowedTools,
	"done_when":           (*front).doneWhen,
	"max_attempts":        (*front).maxAttempts,
	"max_ralph_iters":     (*front).maxRalphIters,
	"backoff":             (*front).backoff,
	"attempt_context":     (*front).attemptContext,
	"done_when_timeout":   (*front).doneWhenTimeout,
	"on_exhausted":        (*front).onExhausted,
	"protect":             (*front).protect,
}

// convergenceKeys mean nothing without done_when.
var convergenceKeys = []string{
	"max_attempts", "max_ralph_iters", "backoff", "attempt_context", "done_when_timeout", "on_exhausted", "protect",
}

var keyNames = slices.Sorted(maps.Keys(keys))

func isKey(name string) bool { return slices.Contains(keyNames, name) }

// isOwnKey reports whether a key means that a file is a state of ours: other
// tools that read frontmatter don't have it.
func isOwnKey(name string) bool {
	switch name {
	case "done_when", "max_attempts", "max_ralph_iters", "on_exhausted", "permission_mode", "disallowed_tools", "result_schema":
		return true
	}
	return strings.HasPrefix(name, "allowed_") && isKey(name)
}

// notBuilt are keys that the language will have. In a state that is reached they
// are errors until they work: to ignore one would change what the author meant.
var notBuilt = []string{"agent", "input_schema", "job", "on_comment", "result_schema"}

// parseFrontmatter reads the text between the --- lines into the policy.
func (s *State) parseFrontmatter(text string) {
	if len(text) > maxFront {
		s.fault(Pos{Line: 1}, "frontmatter", "the frontmatter is over %d KiB", maxFront>>10)
		return
	}
	// The empty line stands for the opening ---, so that lines count as in the file.
	root, line, err := ParseYAML("\n" + text)
	if err != nil {
		s.claim(text)
		s.fault(Pos{Line: line}, "yaml", "malformed YAML: %v", err)
		return
	}
	f := &front{state: s, left: maxNodes, seen: map[string]*yaml.Node{}, loop: NewConvergence(nil)}
	if root = f.expand(root, 0); root == nil || isNull(root) {
		s.claim(text)
		return
	}
	if root.Kind != yaml.MappingNode {
		f.fault(root, "wrong-type", "the frontmatter is %s, not a map of keys", describe(root))
		return
	}
	f.top(root)
	f.finish()
}

// claim notes which keys the lines of a frontmatter name that can't be read.
func (s *State) claim(text string) {
	s.Keyed = s.Keyed || namesKey(text, isKey)
	s.Owned = s.Owned || namesKey(text, isOwnKey)
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

// top reads the keys of the frontmatter.
func (f *front) top(root *yaml.Node) {
	for i := 0; i < len(root.Content); i += 2 {
		if key := root.Content[i]; f.isName(key) {
			f.key(key, root.Content[i+1])
		}
	}
}

func (f *front) key(key, value *yaml.Node) {
	name, lower := key.Value, strings.ToLower(key.Value)
	set, known := keys[name]
	f.state.Keyed = f.state.Keyed || isKey(lower)
	f.state.Owned = f.state.Owned || isOwnKey(lower)
	if known {
		f.seen[name] = key
	}
	switch {
	case known && isNull(value):
		f.fault(key, "wrong-type", "%s has no value", name)
	case known:
		set(f, value)
	case isKey(lower):
		f.fault(key, "wrong-case", "unknown key %s", quote(name)).Hint = "write " + lower
	case slices.Contains(notBuilt, lower):
		f.fault(key, "not-built", "the key %s doesn't work yet in this version", quote(name)).Hint =
			"remove it: what it asks for would not be done"
	default:
		f.warn(key, "unknown-key", "unknown key %s", quote(name)).Hint = didYouMean(name, keyNames)
	}
}

// finish settles what depends on several keys.
func (f *front) finish() {
	p := &f.state.Policy
	transitions, tags, targets := f.seen["allowed_transitions"], f.seen["allowed_tags"], f.seen["allowed_targets"]
	p.Restricted = transitions != nil || tags != nil || targets != nil
	if len(f.state.Problems) == 0 && (transitions != nil && len(p.Allowed) == 0 || tags != nil && len(p.Tags) == 0) {
		f.warn(cmp.Or(transitions, tags), "nothing-allowed", "no transition is allowed, so the state can't end")
	}
	if f.loop.DoneWhen != nil {
		p.Convergence = &f.loop
	}
	for _, name := range convergenceKeys {
		if key := f.seen[name]; key != nil && f.seen["done_when"] == nil {
			f.warn(key, "no-done-when", "%s has no effect without done_when", name)
		}
	}
}

// isName reports whether a key is a plain string, and notes the fault if not.
func (f *front) isName(key *yaml.Node) bool {
	switch {
	case key.ShortTag() == "!!merge":
		f.fault(key, "wrong-type", "merge keys (<<) have no meaning here").Hint = "write the keys out"
	case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
		f.fault(key, "wrong-type", "a key is %s, not a string", describe(key))
	default:
		return true
	}
	return false
}

// ParseYAML returns the root of the one document of text, nil when there is none.
// With an error comes the line, from 1, that the parser stumbled over.
func ParseYAML(text string) (*yaml.Node, int, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, 0, nil
	}
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			return nil, more.Line, errors.New("there is a second document")
		}
	}
	if errors.Is(err, io.EOF) && len(doc.Content) == 1 {
		return doc.Content[0], 0, nil
	}
	line, message := yamlFault(text, err)
	return nil, line, errors.New(message)
}

// How the YAML library words its errors.
var (
	yamlError     = pattern(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	yamlParser    = pattern(`^did not find expected (<|'[,-]'|key|node)|^found (duplicate|incompatible|undefined)`)
	unknownAnchor = pattern(`^unknown anchor '(.*)' referenced$`)
)

// yamlFault returns the line and the message of an error of the YAML library.
func yamlFault(text string, err error) (int, string) {
	m := yamlError().FindStringSubmatch(err.Error())
	if m == nil {
		return 1, err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	if at := tabIndented(text, line); at > 0 {
		return at, "there is a tab in the indentation, where YAML allows only blanks"
	}
	if yamlParser().MatchString(m[2]) {
		line++ // the library counts lines from 0 in errors of its parser, from 1 in those of its scanner
	}
	if a := unknownAnchor().FindStringSubmatch(m[2]); a != nil {
		line = 1 + strings.Count(text[:max(0, strings.Index(text, "*"+a[1]))], "\n")
	}
	return min(max(line, 1), 1+strings.Count(text, "\n")), m[2]
}

// tabIndented returns the line with a tab in its indentation that the parser
// stumbled over at about the given line, 0 when there is none.
func tabIndented(text string, line int) int {
	for i, l := range strings.Split(text, "\n") {
		number := i + 1
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if strings.Contains(indent, "\t") && len(indent) < len(strings.TrimRight(l, "\r")) && number >= line-1 && number <= line+1 {
			return number
		}
	}
	return 0
}

// expand returns a copy of the tree in which aliases are replaced by what they
// stand for, and nil when that grows without bound or a key stands twice.
func (f *front) expand(n *yaml.Node, depth int) *yaml.Node {
	if n == nil {
		return nil
	}
	if f.left--; f.left < 0 || depth > maxDepth {
		f.fault(n, "yaml", "the frontmatter is nested too deep or its aliases expand without bound")
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return f.expand(n.Alias, depth+1)
	}
	c := *n
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, child := range n.Content {
		e := f.expand(child, depth+1)
		if e == nil {
			return nil
		}
		c.Content = append(c.Content, e)
	}
	if n.Kind == yaml.MappingNode && !f.distinct(&c) {
		return nil
	}
	return &c
}

// distinct reports whether no key of a map stands twice.
func (f *front) distinct(n *yaml.Node) bool {
	lines := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		name := key.ShortTag() + " " + key.Value
		if line, twice := lines[name]; twice && key.Kind == yaml.ScalarNode {
			f.fault(key, "duplicate-key", "key %s stands twice", quote(key.Value)).Hint =
				fmt.Sprintf("it is set in line %d already", line)
			return false
		}
		lines[name] = key.Line
	}
	return true
}

func (f *front) fault(n *yaml.Node, code, format string, args ...any) *Problem {
	return f.state.fault(posOf(n), code, format, args...)
}

// warn notes what lint should tell, and returns the note for a hint to be added
// at once.
func (f *front) warn(n *yaml.Node, code, format string, args ...any) *Problem {
	s := f.state
	message := fmt.Sprintf(format, args...)
	s.Warnings = append(s.Warnings, Problem{File: s.Name, Pos: posOf(n), Code: code, Message: message})
	return &s.Warnings[len(s.Warnings)-1]
}

func posOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names what a node is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return "empty"
	case "!!str":
		return quote(n.Value)
	case "!!int", "!!float":
		return "the number " + quote(n.Value)
	case "!!bool":
		return "the boolean " + quote(n.Value)
	default:
		return quote(n.Value) + " of type " + quote(tag)
	}
}

// pattern compiles an expression when it is first needed: most runs need none.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
