package protocol

import (
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Bounds of a convergence policy.
const (
	maxCommands    = 64
	maxAttemptsCap = 100
)

// NewConvergence returns the policy that the commands alone make: the defaults
// of every other key.
func NewConvergence(doneWhen []string) Convergence {
	return Convergence{
		DoneWhen:       doneWhen,
		MaxAttempts:    6,
		Backoff:        Backoff{Base: 2 * time.Second, Max: time.Minute},
		AttemptContext: "entry",
		Timeout:        10 * time.Minute,
		OnExhausted:    "fail",
	}
}

// Loop makes the entry, which must be a plain prompt, a state that is done when c
// says so and whose final message, as it is, is its result: the Ralph loop. It
// reports false, and changes nothing, when the entry is a script or has
// frontmatter or transition tags of its own. To be called right after Load.
func (w *Workflow) Loop(c Convergence) bool {
	s, ok := w.states[w.entry]
	if !ok || s.Kind != Prompt || s.Marked || s.Keyed {
		return false
	}
	s.Policy.Plain, s.Policy.Convergence = true, &c
	return true
}

func (f *front) doneWhen(n *yaml.Node) {
	var commands []string
	switch n.Kind {
	case yaml.ScalarNode:
		var one string
		if f.text("done_when", n, &one) {
			f.loop.DoneWhen = []string{one}
		}
		return
	case yaml.MappingNode:
		f.fault(n, "wrong-type", "done_when is a map, not a command or a list of commands")
		return
	}
	if !f.texts("done_when", n, &commands) {
		return
	}
	if len(commands) == 0 || len(commands) > maxCommands {
		f.fault(n, "wrong-value", "done_when has %d commands, not 1 to %d", len(commands), maxCommands)
		return
	}
	f.loop.DoneWhen = commands
}

func (f *front) maxAttempts(n *yaml.Node)   { f.attempts("max_attempts", "max_ralph_iters", n) }
func (f *front) maxRalphIters(n *yaml.Node) { f.attempts("max_ralph_iters", "max_attempts", n) }

// attempts reads either spelling of max_attempts; other is the second one.
func (f *front) attempts(key, other string, n *yaml.Node) {
	if f.seen[other] != nil {
		f.fault(n, "duplicate-key", "max_attempts and max_ralph_iters are the same key").Hint = "write max_attempts only"
		return
	}
	if i, ok := f.count(key, n, maxAttemptsCap); ok {
		f.loop.MaxAttempts = i
	}
}

func (f *front) backoff(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if n.Kind == yaml.ScalarNode && n.Value == "none" {
			f.loop.Backoff = Backoff{}
			return
		}
		f.fault(n, "wrong-type", "backoff is %s, not a map of base and max, or none", describe(n))
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		switch key, value := n.Content[i], n.Content[i+1]; key.Value {
		case "base":
			f.duration("base of backoff", value, &f.loop.Backoff.Base)
		case "max":
			f.duration("max of backoff", value, &f.loop.Backoff.Max)
		default:
			f.fault(key, "unknown-key", "unknown key %s in backoff", quote(key.Value)).Hint = "its keys are base and max"
		}
	}
	if b := f.loop.Backoff; b.Base > b.Max {
		f.warn(n, "short-max", "the base of backoff, %v, is longer than its max, %v", b.Base, b.Max)
	}
}

func (f *front) attemptContext(n *yaml.Node) {
	if s, ok := f.choice("attempt_context", n, []string{"entry", "fresh", "continue"}); ok {
		f.loop.AttemptContext = s
	}
}

func (f *front) doneWhenTimeout(n *yaml.Node) { f.duration("done_when_timeout", n, &f.loop.Timeout) }

func (f *front) onExhausted(n *yaml.Node) {
	var s string
	if !f.text("on_exhausted", n, &s) {
		return
	}
	s = strings.TrimSpace(s)
	f.loop.OnExhausted = s
	if s != "fail" && s != "suspend" {
		f.state.refer(Reference{Part: "on_exhausted", Name: s, Pos: posOf(n), Policy: true})
	}
}

func (f *front) protect(n *yaml.Node) {
	if !f.texts("protect", n, &f.loop.Protect) {
		return
	}
	for i, pattern := range f.loop.Protect {
		for part := range strings.SplitSeq(pattern, "/") {
			if _, err := path.Match(part, ""); err != nil {
				f.fault(n.Content[i], "wrong-value", "%s is no pattern of files: %v", quote(pattern), err)
				break
			}
		}
		if why := outside(pattern); why != "" {
			f.fault(n.Content[i], "wrong-value", "%s protects nothing: %s", quote(pattern), why).Hint =
				"write patterns relative to the agent's directory, without .."
		}
		if !closesBraces(pattern) {
			f.fault(n.Content[i], "wrong-value", "%s is no pattern of files: its braces do not match", quote(pattern))
		}
	}
}

// outside says why a pattern can match no file of the directory that it is for,
// or "".
func outside(pattern string) string {
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{},", r) })
	start := strings.TrimLeft(pattern, "{,")
	switch {
	case slices.Contains(parts, ".."):
		return "it leads out of the agent's directory"
	case strings.HasPrefix(start, "/") || strings.Contains(pattern, "{/") || strings.Contains(pattern, ",/"):
		return "it is absolute"
	case len(start) > 2 && start[1] == ':' && (start[2] == '/' || start[2] == '\\'):
		return "it is absolute"
	}
	return ""
}

// closesBraces reports whether each brace of a pattern has its other one.
func closesBraces(pattern string) bool {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}
