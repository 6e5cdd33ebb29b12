package scope

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// Need is an agent CLI that a workflow needs.
type Need struct {
	Backend string // one of protocol.Backends
	State   string // the first state that needs it
}

// Agents returns the agent CLIs that the workflow needs, as far as its files show, each once and in
// the order of the states; run is that of states that name none. Only the prompts of the jobs count;
// nil is all. from are the states where agents are; without one, they begin.
func (s *Scope) Agents(run string, jobs []string, from ...string) []Need {
	var all []Need
	add := func(backend, state string) {
		isIt := func(n Need) bool { return n.Backend == backend }
		if protocol.IsBackend(backend) && !slices.ContainsFunc(all, isIt) {
			all = append(all, Need{backend, state})
		}
	}
	chart := s.Workflow.Chart()
	from = slices.DeleteFunc(from, func(name string) bool { return !slices.Contains(s.Workflow.Names(), name) })
	if len(from) == 0 {
		from = chart.States()
	}
	for _, name := range chart.From(from...) {
		st, ok := s.Workflow.State(name)
		if !ok {
			continue
		}
		isHere := jobs == nil || slices.Contains(jobs, s.Workflow.JobOf(name))
		switch {
		case !isHere || st.Kind != protocol.Prompt:
		case st.Policy.Backend != "":
			add(st.Policy.Backend, name)
		default:
			add(run, name)
		}
		for _, e := range chart.Exits(name) {
			if e.Backend != "" && (jobs == nil || slices.Contains(jobs, s.Workflow.JobOf(e.Target.State))) {
				add(e.Backend, name)
			}
		}
	}
	return all
}
