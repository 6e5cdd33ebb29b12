package lint

import (
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// builtIn are the template names that work in every prompt.
var builtIn = []string{"workflow_id", "agent_id", "state", "result", "input"}

// suppliedNames returns the names that have a value in templates. It returns nil if the names are
// unknown, because a script composes its forks when it runs.
func (l *linter) suppliedNames() map[string]bool {
	names := map[string]bool{}
	for _, n := range slices.Concat(builtIn, l.o.Meta) {
		names[n] = true
	}
	add := func(t protocol.Tag) {
		if t.Verb == protocol.Fork {
			for name := range t.Variables() {
				names[name] = true
			}
		}
	}
	for _, name := range l.w.Names() {
		d := l.chart.Analysis(name)
		if (l.chart.IsOpaque(name) || isUnreadable(d.State)) && l.chart.Reaches(name) {
			return nil
		}
		for _, t := range d.Tags {
			if t.Verb == protocol.Fork && len(t.Problems) > 0 && d.State.Kind == protocol.Script {
				return nil
			}
			add(t.Tag)
		}
		for _, r := range d.State.Policy.Transitions.Allowed {
			add(r.AsTag())
		}
	}
	return names
}

// sortedKeys returns the keys of a set, sorted.
func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// isSupplied reports whether a template name can have a value in the given state.
func (l *linter) isSupplied(s *protocol.State, name string) bool {
	// Only a state with done_when has attempts. Its policy contains done_when, or the command line
	// can set it.
	hasAttempts := s.Policy.Convergence != nil || l.canLoop(s)
	switch name {
	case "attempt", "max_attempts":
		return l.names[name] || hasAttempts
	case "failure":
		return l.names[name] || hasAttempts || slices.ContainsFunc(l.w.Names(), func(from string) bool {
			return slices.ContainsFunc(l.chart.Exits(from), func(e protocol.Exit) bool { return e.OnExhausted && e.Target.State == s.Name })
		})
	}
	return l.names[name]
}

// canLoop reports whether the command line can turn a state into a loop with --done-when.
func (l *linter) canLoop(s *protocol.State) bool {
	return s.Name == l.w.Entry() && !s.Evidence.HasMarker && !s.Evidence.HasKnownKey
}
