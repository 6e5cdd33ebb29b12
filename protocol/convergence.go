package protocol

import (
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"gopkg.in/yaml.v3"
)

// Limits of a convergence policy: the number of commands in done_when, and the value of
// max_attempts.
const (
	maxCommands    = 64
	maxAttemptsCap = 100
)

// NewConvergence returns a policy with the given commands and with the default of every other key.
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

// LoopEntry turns the workflow's first state (Workflow.Entry) into a Ralph loop: the state is
// repeated until the commands of c pass, and its final message, unchanged, becomes its result. If
// the state is a script or has frontmatter or transition tags, LoopEntry changes nothing and
// returns false. It must be called right after Load.
func (w *Workflow) LoopEntry(c Convergence) bool {
	s, ok := w.states[w.entry]
	if !ok || s.Kind != Prompt || s.Evidence.HasMarker || s.Evidence.HasKnownKey {
		return false
	}
	s.Policy.Plain, s.Policy.Convergence = true, &c
	return true
}

// readDoneWhen reads the key done_when, which is a command or a list of commands.
func (v value) readDoneWhen() {
	c := v.state.Policy.Convergence
	switch v.node.Kind {
	case yaml.ScalarNode:
		if command, ok := v.text(); ok {
			c.DoneWhen = []string{command}
		}
		return
	case yaml.MappingNode:
		v.problem("wrong-type", "done_when is a map, not a command or a list of commands")
		return
	}
	commands, ok := v.texts()
	switch {
	case !ok:
	case len(commands) == 0 || len(commands) > maxCommands:
		v.problem("wrong-value", "done_when has %d commands, not 1 to %d", len(commands), maxCommands)
	default:
		c.DoneWhen = commands
	}
}

// readBackoff reads the key backoff, which is a map with base and max, or the word none.
func (v value) readBackoff() {
	c := v.state.Policy.Convergence
	if v.node.Kind != yaml.MappingNode {
		if v.node.Kind == yaml.ScalarNode && v.node.Value == "none" {
			c.Backoff = Backoff{}
			return
		}
		v.problem("wrong-type", "backoff is %s, not a map of base and max, or none", Describe(v.node))
		return
	}
	b := &c.Backoff
	for i := 0; i < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		to := map[string]*time.Duration{"base": &b.Base, "max": &b.Max}[key.Value]
		if to == nil {
			v.state.addProblem(PosOf(key), "unknown-key", "unknown key %s in backoff", Quote(key.Value)).Hint = "its keys are base and max"
		} else if d, ok := v.entry(key.Value+" of backoff", node).duration(); ok {
			*to = d
		}
	}
	if b.Base > b.Max {
		v.state.addWarning(PosOf(v.node), "short-max", "the base of backoff, %v, is longer than its max, %v", b.Base, b.Max)
	}
}

// readOnExhausted reads the key on_exhausted, which is fail, suspend, or the name of a state.
func (v value) readOnExhausted() {
	text, ok := v.text()
	text = strings.TrimSpace(text)
	v.state.Policy.Convergence.OnExhausted = text
	if ok && text != "fail" && text != "suspend" {
		v.refer(text)
	}
}

// readProtect reads the key protect, a list of file name patterns. It adds a problem for each
// pattern that is malformed or can't match a file in the agent's directory.
func (v value) readProtect() {
	patterns, _ := v.texts()
	v.state.Policy.Convergence.Protect = patterns
	for i, pattern := range patterns {
		entry := v.entry("an entry of protect", v.node.Content[i])
		if !doublestar.ValidatePattern(pattern) {
			entry.problem("wrong-value", "%s is not a pattern of file names: %v", Quote(pattern), doublestar.ErrBadPattern)
		}
		if why := outside(pattern); why != "" {
			entry.problem("wrong-value", "%s protects nothing: %s", Quote(pattern), why).Hint =
				"write patterns relative to the agent's directory, without .."
		}
	}
}

// outside returns why a pattern can't match any file in the agent's directory, or "" if it can.
func outside(pattern string) string {
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{},", r) })
	start := strings.TrimLeft(pattern, "{,")
	switch {
	case slices.Contains(parts, ".."):
		return "it leads out of the agent's directory"
	case strings.HasPrefix(start, "/") || strings.Contains(pattern, "{/") || strings.Contains(pattern, ",/"),
		len(start) > 2 && start[1] == ':' && (start[2] == '/' || start[2] == '\\'):
		return "it is absolute"
	}
	return ""
}
