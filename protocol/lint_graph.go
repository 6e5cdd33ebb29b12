package protocol

import "slices"

// endings returns the states from which an agent can come to a result. Where
// that can't be told it is assumed: what is wrong there is a finding of its own.
func (l *linter) endings() map[string]bool {
	ends := map[string]bool{}
	for name, s := range l.w.states {
		ends[name] = l.IsOpaque(name) || len(s.Problems) > 0
	}
	for changed := true; changed; {
		changed = false
		for _, name := range l.w.catalog.names {
			if !ends[name] && slices.ContainsFunc(l.exits[name], func(e Exit) bool { return e.leadsOut(ends) }) {
				ends[name], changed = true, true
			}
		}
	}
	return ends
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

// onwards returns the states at which the agent goes on for good when it takes
// an exit from which no result can be reached.
func (l *linter) onwards(e Exit) []string {
	next := []string{e.Target.State}
	switch {
	case e.Verb == Fork, (e.Verb == Call || e.Verb == Function) && l.ends[e.Target.State]:
		next = []string{e.After.State}
	}
	return slices.DeleteFunc(next, func(n string) bool { return n == "" })
}

// around returns the states of the loop that a state without a way to a result
// is part of, when nothing leads out of that loop; else nothing.
func (l *linter) around(name string) map[string]bool {
	ahead := l.ahead(name)
	for n := range ahead {
		if !l.ahead(n)[name] {
			return nil
		}
	}
	return ahead
}

// ahead returns the states that come after one, itself only when it is among
// them.
func (l *linter) ahead(name string) map[string]bool {
	found := map[string]bool{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, e := range l.exits[queue[0]] {
			for _, n := range l.onwards(e) {
				if !found[n] {
					found[n] = true
					queue = append(queue, n)
				}
			}
		}
	}
	return found
}
