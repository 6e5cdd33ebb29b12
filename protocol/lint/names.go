package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// builtIn are the names that every template can use.
var builtIn = []string{"workflow_id", "agent_id", "state", "result", "input"}

// supply is what templates can be filled with.
type supply struct {
	w     *protocol.Workflow
	chart *protocol.Chart
	names map[string]bool // in any state; nil when they can't be known
}

// newSupply finds the names that templates of any state may be filled with. They can't
// be known when scripts make forks that can't be read.
func newSupply(w *protocol.Workflow, c *protocol.Chart, meta []string) supply {
	unknown := supply{w: w, chart: c}
	names := map[string]bool{}
	for _, n := range slices.Concat(builtIn, meta) {
		names[n] = true
	}
	add := func(t protocol.Tag) {
		if t.Verb == protocol.Fork {
			for name := range t.Variables() {
				names[name] = true
			}
		}
	}
	for _, name := range w.Names() {
		d := c.Reading(name)
		if (c.IsOpaque(name) || isUnreadable(d.State)) && c.Reaches(name) {
			return unknown
		}
		for _, t := range d.Tags {
			if t.Verb == protocol.Fork && len(t.Problems) > 0 && d.State.Kind == protocol.Script {
				return unknown
			}
			add(t.Tag)
		}
		for _, r := range d.State.Policy.Transitions.Allowed {
			add(r.Described())
		}
	}
	return supply{w: w, chart: c, names: names}
}

func (p supply) unknownName(name string) protocol.Problem {
	hint := protocol.DidYouMean(name, sortedKeys(p.names))
	switch {
	case name == "attempt" || name == "max_attempts" || name == "failure":
		hint = "only a state with done_when has it"
	case hint == "":
		hint = "a fork attribute or --meta " + name + "=… would supply it; tell lint with --meta " + name
	}
	return protocol.Problem{Code: "unknown-name", Message: fmt.Sprintf("nothing supplies {{%s}}", name), Hint: hint}
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// has reports whether something can fill in a name in the given state.
func (p supply) has(s *protocol.State, name string) bool {
	// A state has done_when, or can be given it on the command line.
	hasAttempts := s.Policy.Convergence != nil || s.Name == p.w.Entry() && !s.Claims.Marked && !s.Claims.Keyed
	switch name {
	case "attempt", "max_attempts":
		return p.names[name] || hasAttempts
	case "failure":
		return p.names[name] || hasAttempts || p.followsGivingUp(s.Name)
	}
	return p.names[name]
}

// followsGivingUp reports whether some state names this one in on_exhausted.
func (p supply) followsGivingUp(name string) bool {
	return slices.ContainsFunc(p.w.Names(), func(from string) bool {
		return slices.ContainsFunc(p.chart.Exits(from), func(e protocol.Exit) bool { return e.OnExhausted && e.Target.State == name })
	})
}
