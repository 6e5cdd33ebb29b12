package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// endsOf returns the states from which an agent can reach a result. It includes states with unknown
// exits or with problems, because other checks report them.
func endsOf(w *protocol.Workflow, c *protocol.Chart) map[string]bool {
	ends := map[string]bool{}
	for _, name := range w.Names() {
		ends[name] = c.IsOpaque(name) || len(c.Analysis(name).State.Problems) > 0
	}
	for changed := true; changed; {
		changed = false
		for _, name := range w.Names() {
			if !ends[name] && slices.ContainsFunc(c.Exits(name), func(e protocol.Exit) bool { return leadsOut(e, ends) }) {
				ends[name], changed = true, true
			}
		}
	}
	return ends
}

// leadsOut reports whether a result can be reached through an exit. ends contains the states from
// which a result can be reached.
func leadsOut(e protocol.Exit, ends map[string]bool) bool {
	known := func(g protocol.Target) bool { return g.State == "" || ends[g.State] }
	switch e.Verb {
	case protocol.Result:
		return true
	case protocol.Call, protocol.Function:
		return known(e.Target) && known(e.Next)
	case protocol.Fork:
		return known(e.Next)
	}
	return known(e.Target)
}

// checkReturns checks that the targets of calls and functions can return.
func (l *linter) checkReturns(d checkedState) {
	for _, e := range l.chart.Exits(d.State.Name) {
		if e.Verb != protocol.Call && e.Verb != protocol.Function || e.Target.State == "" || l.ends[e.Target.State] {
			continue
		}
		l.warn(d, e.Pos, protocol.Problem{Code: "no-return",
			Message: fmt.Sprintf("<%s> to %s never returns: no <result> can be reached from there", e.Verb, protocol.Quote(e.Target.Name)),
			Hint:    fmt.Sprintf("end it with <result>, or %s is never run", cmp.Or(e.Next.Name, "the return"))})
	}
}

// checkLoops finds loops that no path leaves. A loop in which agents wait is intended to run
// forever and is not reported. Each loop is reported once, at its first state.
func (l *linter) checkLoops() {
	reported := map[string]bool{}
	for _, name := range slices.Concat([]string{l.w.Entry()}, l.w.Names()) {
		if !l.chart.Reaches(name) || reported[name] || l.ends[name] {
			continue
		}
		loop := l.ahead(name)
		for n := range loop {
			if !l.ahead(n)[name] {
				loop = nil // a path leaves the loop
				break
			}
		}
		for n := range loop {
			reported[n] = true
		}
		waits := func(e protocol.Exit) bool { return e.Delay != "" && loop[l.successor(e)] }
		names := slices.Sorted(maps.Keys(loop))
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return slices.ContainsFunc(l.chart.Exits(n), waits) }) {
			message := "this state leads only to itself: the loop has no way out"
			if len(names) > 1 {
				message = fmt.Sprintf("%s lead only to each other: the loop has no way out", protocol.QuoteAll(names))
			}
			var pos protocol.Pos
			for _, e := range slices.Backward(l.chart.Exits(name)) {
				if loop[l.successor(e)] {
					pos = e.Pos
				}
			}
			l.warn(checkedState{l.chart.Analysis(name)}, pos, protocol.Problem{Code: "endless", Message: message,
				Hint: "let one of its states end with <result>; otherwise only a limit of the run ends it"})
		}
	}
}

// successor returns the state in which the agent itself continues after an exit, or "" if it
// continues in no state. The exit must be one through which no result can be reached.
func (l *linter) successor(e protocol.Exit) string {
	if e.Verb == protocol.Fork || (e.Verb == protocol.Call || e.Verb == protocol.Function) && l.ends[e.Target.State] {
		return e.Next.State
	}
	return e.Target.State
}

// ahead returns the states that can follow a state, directly or later. They include the state
// itself only if it can follow itself.
func (l *linter) ahead(name string) map[string]bool {
	found := map[string]bool{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, e := range l.chart.Exits(queue[0]) {
			if next := l.successor(e); next != "" && !found[next] {
				found[next] = true
				queue = append(queue, next)
			}
		}
	}
	return found
}
