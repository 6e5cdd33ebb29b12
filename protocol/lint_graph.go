package protocol

import "slices"

// routes says where the transitions of a workflow lead.
type routes struct {
	exits map[string][]Exit // of each state
	ends  map[string]bool   // states from which a result can be reached
}

// newRoutes finds the states from which an agent can come to a result. Where that is
// not known it is assumed: what is wrong there is a finding of its own.
func newRoutes(c *Chart) routes {
	ends := map[string]bool{}
	for name, s := range c.w.states {
		ends[name] = c.IsOpaque(name) || len(s.Problems) > 0
	}
	for changed := true; changed; {
		changed = false
		for _, name := range c.w.catalog.names {
			if !ends[name] && slices.ContainsFunc(c.exits[name], func(e Exit) bool { return e.leadsOut(ends) }) {
				ends[name], changed = true, true
			}
		}
	}
	return routes{exits: c.exits, ends: ends}
}

// leadsOut reports whether a result can be reached by an exit, when ends is
// right for the states it names.
func (e Exit) leadsOut(ends map[string]bool) bool {
	known := func(g Goal) bool { return g.State == "" || ends[g.State] }
	switch e.Verb {
	case Result:
		return true
	case Call, Function:
		return known(e.Target) && known(e.After)
	case Fork:
		return known(e.After)
	}
	return known(e.Target)
}

// successors returns the states in which the agent itself continues when it takes an
// exit from which no result can be reached.
func (r routes) successors(e Exit) []string {
	next := []string{e.Target.State}
	switch {
	case e.Verb == Fork, (e.Verb == Call || e.Verb == Function) && r.ends[e.Target.State]:
		next = []string{e.After.State}
	}
	return slices.DeleteFunc(next, func(n string) bool { return n == "" })
}

// loopAt returns the states of the loop that a state is part of, when no result can be
// reached from it and nothing leads out of the loop; else nothing.
func (r routes) loopAt(name string) map[string]bool {
	ahead := r.ahead(name)
	for n := range ahead {
		if !r.ahead(n)[name] {
			return nil
		}
	}
	return ahead
}

// ahead returns the states that can follow a state. The state itself is among them
// only when it can follow itself.
func (r routes) ahead(name string) map[string]bool {
	next := func(name string) (list []string) {
		for _, e := range r.exits[name] {
			list = append(list, r.successors(e)...)
		}
		return list
	}
	found := map[string]bool{}
	for _, n := range walk(next(name), next) {
		found[n] = true
	}
	return found
}
