package scope

import (
	"cmp"
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// CLINeed is an agent CLI that a workflow needs.
type CLINeed struct {
	Backend string // an element of protocol.Backends
	State   string // the first state that needs it
}

// NeededCLIs returns the agent CLIs that prompts of the given jobs need. If jobs is nil, it means all jobs.
// Only agent CLIs that the workflow's files show are included, each once, in the order of the states. The
// parameter run is the agent CLI for states that name no CLI. from lists the current states of the run's
// agents; if it is empty, the search begins at the workflow's entry.
func (s *Scope) NeededCLIs(run string, jobs []string, from ...string) []CLINeed {
	var all []CLINeed
	add := func(backend, state string) {
		isIt := func(n CLINeed) bool { return n.Backend == backend }
		if protocol.IsBackend(backend) && !slices.ContainsFunc(all, isIt) {
			all = append(all, CLINeed{backend, state})
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

// SurelyNeededCLIs returns the agent CLIs that are certainly needed by prompts of the given jobs that can
// be reached from the entry. A nil jobs means all jobs. run is the run's CLI; if it is empty, the default
// is used. A state that names no CLI continues with the CLI of the conversation that reaches it. If other
// states name CLIs, only the CLI of the entry is therefore certain.
func (s *Scope) SurelyNeededCLIs(run string, jobs []string) []string {
	own := cmp.Or(run, protocol.DefaultBackend)
	var named, open []string // the CLIs that are certainly needed, and the run's CLI if a state other than the entry names no CLI
	for _, name := range s.Workflow.Chart().States() {
		st, ok := s.Workflow.State(name)
		isHere := jobs == nil || slices.Contains(jobs, s.Workflow.JobOf(name))
		switch {
		case !ok || st.Kind != protocol.Prompt || !isHere:
		case st.Policy.Backend != "":
			named = append(named, st.Policy.Backend)
		case name == s.Workflow.Entry():
			named = append(named, own)
		default:
			open = []string{own}
		}
	}
	if len(named) == 0 {
		named = open
	}
	slices.Sort(named)
	return slices.Compact(named)
}
