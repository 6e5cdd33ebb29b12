package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// builtIn are the names that every template can use.
var builtIn = []string{"workflow_id", "agent_id", "state", "result", "input"}

// suppliedNames finds the names that templates of any state may be filled with. It is nil when they can't
// be known, because scripts make forks that can't be read.
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

func (l *linter) unknownName(name string) protocol.Problem {
	hint := protocol.DidYouMean(name, sortedKeys(l.names))
	switch {
	case name == "attempt" || name == "max_attempts" || name == "failure":
		hint = "only a state with done_when has it"
	case hint == "":
		hint = "a fork attribute or --meta " + name + "=… would supply it; tell lint with --meta " + name
	}
	return protocol.Problem{Code: "unknown-name", Message: fmt.Sprintf("nothing supplies {{%s}}", name), Hint: hint}
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// isSupplied reports whether something can fill in a name in the given state.
func (l *linter) isSupplied(s *protocol.State, name string) bool {
	// A state has done_when, or can be given it on the command line.
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

// canLoop reports whether a state can be given commands on the command line that decide when it is done.
func (l *linter) canLoop(s *protocol.State) bool {
	return s.Name == l.w.Entry() && !s.Evidence.HasMarker && !s.Evidence.HasKnownKey
}
