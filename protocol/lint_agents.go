package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// conversations says which agent CLIs may hold the conversation of an agent at a state, as
// far as the files show.
type conversations struct {
	chart *Chart
	run   string // the agent CLI of the run
	// Both are by state and name agent CLIs: those that the state may run with, and those
	// with which a conversation may have begun when it starts, where "" is for none.
	runs, held map[string]backendSet
	// vague says that a script may lead anywhere, so that held doesn't have everything.
	vague bool
}

// anyBackend stands for an agent CLI that is known only when the workflow runs.
const anyBackend = "*"

// backendSet has names of agent CLIs.
type backendSet map[string]bool

func newConversations(c *Chart, run string) *conversations {
	v := &conversations{chart: c, run: run, runs: map[string]backendSet{}, held: map[string]backendSet{}}
	for name := range c.w.states {
		v.runs[name], v.held[name] = backendSet{}, backendSet{}
		v.vague = v.vague || c.reaches(name) && c.isUnclear(name)
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

// backendOf is the agent CLI that runs a state in the conversation of another one, "" for
// none, unless a function tag decides: the one that the state names, or else that other one.
func (v *conversations) backendOf(name, held string) string {
	return cmp.Or(v.chart.w.states[name].Policy.Backend, held, v.run)
}

// after returns the agent CLIs that may hold the conversation when a state has ended.
// Scripts leave it as it is.
func (v *conversations) after(name string) backendSet {
	if v.chart.w.states[name].Kind == Prompt {
		return v.runs[name]
	}
	return v.held[name]
}

// enter notes which conversations a state may start with, and reports whether that is new.
// It leaves out those with which the state can't start.
func (v *conversations) enter(name string, held backendSet) bool {
	if name == "" {
		return false
	}
	before := len(v.held[name]) + len(v.runs[name])
	for backend := range held {
		if by := v.backendOf(name, backend); backend == "" || by == backend || v.chart.w.states[name].Kind == Script {
			v.held[name][backend], v.runs[name][by] = true, true
		}
	}
	return len(v.held[name])+len(v.runs[name]) > before
}

// enterBy notes that a function begins a state with an agent CLI, which may be known only
// when it runs, and reports whether that is new.
func (v *conversations) enterBy(name, backend string) bool {
	before := len(v.held[name]) + len(v.runs[name])
	if !IsBackend(backend) {
		backend = anyBackend
	}
	v.held[name][""], v.runs[name][backend] = true, true
	return len(v.held[name])+len(v.runs[name]) > before
}

// follow enters the states that a transition leads to, and reports whether anything is new.
func (v *conversations) follow(from string, e Exit) bool {
	changed := false
	for _, name := range continued(e) {
		changed = v.enter(name, v.after(from)) || changed
	}
	switch {
	case e.Verb == Function && e.Backend != "" && e.Target.State != "":
		changed = v.enterBy(e.Target.State, e.Backend) || changed
	case e.Verb == Reset || e.Verb == Function || e.Verb == Fork || e.OnExhausted:
		changed = v.enter(e.Target.State, backendSet{"": true}) || changed
	}
	return changed
}

// continued returns the states that start in the conversation of the state with the exit,
// or in a branch of it.
func continued(e Exit) []string {
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

// checkAgents checks that no conversation comes to a state that another agent CLI runs, and
// that calls branch what can be branched.
func (l *linter) checkAgents() {
	v := newConversations(l.chart, cmp.Or(l.o.Backend, DefaultBackend))
	told := false
	for _, name := range l.chart.order {
		if l.chart.w.states[name].Kind == Script && v.vague {
			continue
		}
		for _, e := range l.chart.exits[name] {
			l.checkBranch(v, name, e)
			for _, to := range continued(e) {
				l.checkAgent(v, name, e, to)
				told = told || l.noteCommand(v, name, e, to)
			}
		}
	}
}

// checkAgent checks that a state may start in the conversation with which another one ends.
func (l *linter) checkAgent(v *conversations, from string, e Exit, to string) {
	backend := l.w.states[to].Policy.Backend
	all := slices.Sorted(maps.Keys(v.after(from)))
	others := slices.DeleteFunc(slices.Clone(all), func(b string) bool { return b == "" || b == backend })
	isUnsure := l.w.states[from].Kind == Script && len(others) < len(all) // it may know when to go there
	if backend == "" || len(others) == 0 || isUnsure || slices.Contains(all, anyBackend) {
		return
	}
	l.add(SeverityError, Problem{File: from, Pos: e.Pos, Code: "agent",
		Message: fmt.Sprintf("<%s> would continue a conversation of the agent %s in %s, which %s runs", e.Verb, others[0], to, backend),
		Hint:    "reach it by <reset>, <function> or <fork>, or let the same agent run both states"})
}

// checkBranch checks that a call comes from an agent whose conversations can be branched.
func (l *linter) checkBranch(v *conversations, from string, e Exit) {
	after := v.after(from)
	can := func(backend string) bool { return !slices.Contains(l.o.CantBranch, backend) }
	if e.Verb != Call || len(after) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(after)), can) {
		return
	}
	l.add(SeverityError, Problem{File: from, Pos: e.Pos, Code: "agent",
		Message: fmt.Sprintf("<call> branches a conversation, which the agent %s can't", slices.Sorted(maps.Keys(after))[0]),
		Hint:    "write <function>, which begins a conversation of its own"})
}

// noteCommand says, and reports that it did, that a program of the user's own must be able
// to continue a conversation.
func (l *linter) noteCommand(v *conversations, from string, e Exit, to string) bool {
	after := v.after(from)
	if l.w.states[to].Kind != Prompt || len(after) != 1 || !after[BackendCommand] || v.backendOf(to, BackendCommand) != BackendCommand {
		return false
	}
	message := fmt.Sprintf("<%s> continues a conversation in %s: if the program tells no session, it begins a new one there", e.Verb, to)
	if e.Verb == Call {
		message = fmt.Sprintf("<call> branches a conversation for %s: if the program tells no session, the agent fails", e.Target.State)
	}
	l.add(SeverityHint, Problem{File: from, Pos: e.Pos, Code: "command-session", Message: message})
	return true
}
