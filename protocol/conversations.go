package protocol

import (
	"cmp"
	"slices"
)

// Conversations say which agent CLIs may hold the conversation of an agent at a state, as
// far as the files show.
type Conversations struct {
	// IsVague says that a script may lead anywhere, so that not everything is known.
	IsVague bool

	chart *Chart
	run   string // the agent CLI of the run
	// Both are by state and name agent CLIs: those that the state may run with, and those
	// with which a conversation may have begun when it starts, where "" is for none.
	runs, held map[string]backendSet
}

// AnyBackend stands for an agent CLI that is known only when the workflow runs.
const AnyBackend = "*"

// backendSet has names of agent CLIs.
type backendSet = map[string]bool

// Conversations returns those of a run with an agent CLI; "" is the default one.
func (c *Chart) Conversations(run string) *Conversations {
	run = cmp.Or(run, DefaultBackend)
	v := &Conversations{chart: c, run: run, runs: map[string]backendSet{}, held: map[string]backendSet{}}
	for name := range c.w.states {
		v.runs[name], v.held[name] = backendSet{}, backendSet{}
		v.IsVague = v.IsVague || c.Reaches(name) && c.isUnclear(name)
	}
	if c.w.entry == "" {
		return v
	}
	v.enter(c.w.entry, backendSet{"": true})
	for changed := true; changed; {
		changed = false
		for _, name := range c.order {
			for _, e := range c.exits[name] {
				changed = v.follow(name, e) || changed
			}
		}
	}
	return v
}

// BackendOf is the agent CLI that runs a state in the conversation of another one, "" for
// none, unless a function tag decides: the one that the state names, or else that other one.
func (v *Conversations) BackendOf(name, held string) string {
	return cmp.Or(v.chart.w.states[name].Policy.Backend, held, v.run)
}

// After returns the agent CLIs that may hold the conversation when a state has ended, "" for none.
// Scripts leave it as it is.
func (v *Conversations) After(name string) map[string]bool {
	if v.chart.w.states[name].Kind == Prompt {
		return v.runs[name]
	}
	return v.held[name]
}

// enter notes which conversations a state may start with, and reports whether that is new.
// It leaves out those with which the state can't start.
func (v *Conversations) enter(name string, held backendSet) bool {
	if name == "" {
		return false
	}
	before := len(v.held[name]) + len(v.runs[name])
	for backend := range held {
		if by := v.BackendOf(name, backend); backend == "" || by == backend || v.chart.w.states[name].Kind == Script {
			v.held[name][backend], v.runs[name][by] = true, true
		}
	}
	return len(v.held[name])+len(v.runs[name]) > before
}

// enterBy notes that a function begins a state with an agent CLI, which may be known only
// when it runs, and reports whether that is new.
func (v *Conversations) enterBy(name, backend string) bool {
	before := len(v.held[name]) + len(v.runs[name])
	if !IsBackend(backend) {
		backend = AnyBackend
	}
	v.held[name][""], v.runs[name][backend] = true, true
	return len(v.held[name])+len(v.runs[name]) > before
}

// follow enters the states that a transition leads to, and reports whether anything is new.
func (v *Conversations) follow(from string, e Exit) bool {
	changed := false
	for _, name := range e.Continued() {
		changed = v.enter(name, v.After(from)) || changed
	}
	switch {
	case e.Verb == Function && e.Backend != "" && e.Target.State != "":
		changed = v.enterBy(e.Target.State, e.Backend) || changed
	case e.Verb == Reset || e.Verb == Function || e.Verb == Fork || e.OnExhausted:
		changed = v.enter(e.Target.State, backendSet{"": true}) || changed
	}
	return changed
}

// Continued returns the states that start in the conversation of the state with the exit,
// or in a branch of it.
func (e Exit) Continued() []string {
	var list []string
	switch {
	case e.Verb == Goto || e.Verb == Ask || e.Verb == Join:
		list = []string{e.Target.State}
	case e.Verb == Call:
		list = []string{e.Target.State, e.After.State}
	case e.Verb == Function || e.Verb == Fork:
		list = []string{e.After.State}
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" })
}
