package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// builtIn are the names that every template can use.
var builtIn = []string{"workflow_id", "agent_id", "state", "result", "input"}

// supply is what templates can be filled with.
type supply struct {
	chart *Chart
	names map[string]bool // in any state; nil when they can't be known
}

// newSupply finds the names that templates of any state may be filled with. They can't
// be known when scripts make forks that can't be read.
func newSupply(c *Chart, meta []string) supply {
	unknown := supply{chart: c}
	names := map[string]bool{}
	for _, n := range slices.Concat(builtIn, meta) {
		names[n] = true
	}
	for name, d := range c.readings {
		if (c.IsOpaque(name) || d.s.isUnreadable()) && c.reaches(name) {
			return unknown
		}
		for _, t := range d.tags {
			if t.Verb == Fork && len(t.problems) > 0 && d.s.Kind == Script {
				return unknown
			}
			addVariables(names, t.Tag)
		}
		for _, r := range d.s.Policy.Transitions.Allowed {
			addVariables(names, r.tag())
		}
	}
	return supply{chart: c, names: names}
}

func addVariables(names map[string]bool, t Tag) {
	if t.Verb != Fork {
		return
	}
	for name := range variables(t) {
		names[name] = true
	}
}

func (p supply) unknownName(name string) Problem {
	hint := didYouMean(name, slices.Sorted(maps.Keys(p.names)))
	switch {
	case name == "attempt" || name == "max_attempts" || name == "failure":
		hint = "only a state with done_when has it"
	case hint == "":
		hint = "a fork attribute or --meta " + name + "=… would supply it; tell lint with --meta " + name
	}
	return Problem{Code: "unknown-name", Message: fmt.Sprintf("nothing supplies {{%s}}", name), Hint: hint}
}

// has reports whether something can fill in a name in the given state.
func (p supply) has(s *State, name string) bool {
	switch name {
	case "attempt", "max_attempts":
		return p.names[name] || p.hasAttempts(s)
	case "failure":
		return p.names[name] || p.hasAttempts(s) || p.followsGivingUp(s)
	}
	return p.names[name]
}

// hasAttempts reports whether a state has done_when, or can be given it on the
// command line.
func (p supply) hasAttempts(s *State) bool {
	return s.Policy.Convergence != nil || s.Name == p.chart.w.entry && !s.Claims.Marked && !s.Claims.Keyed
}

// followsGivingUp reports whether some state names this one in on_exhausted.
func (p supply) followsGivingUp(s *State) bool {
	for _, exits := range p.chart.exits {
		if slices.ContainsFunc(exits, func(e Exit) bool { return e.OnExhausted && e.Target.State == s.Name }) {
			return true
		}
	}
	return false
}
