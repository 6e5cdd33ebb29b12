package protocol

import (
	"cmp"
	"slices"
)

// Conversations say which agent CLIs may hold the conversation of an agent at a state, as
// far as the files show.
type Conversations struct {
	// Starts are the ways in which one may begin. What is known only when the workflow runs is left out.
	Starts []ConversationStart
	// IsIncomplete says that a script may lead anywhere, so that not everything is known.
	IsIncomplete bool

	chart      *Chart
	run, model string                     // the agent CLI of the run, and its model
	after      map[string]map[string]bool // what After returns, by state
}

// ConversationStart is a way in which a conversation may begin at a prompt state.
type ConversationStart struct {
	State   string
	Pos     Pos    // of the function that names Backend or Model, in the file From; else zero
	From    string // "" when it is the state itself that names them, or nobody
	Backend string // the agent CLI
	Model   string // "" when none is named
}

// AnyBackend stands for an agent CLI that is known only when the workflow runs.
const AnyBackend = "*"

// Conversations returns those of a run with an agent CLI and a model; "" is the default CLI, and
// no model.
func (c *Chart) Conversations(run, model string) *Conversations {
	v := &Conversations{chart: c, run: cmp.Or(run, DefaultBackend), model: model, after: map[string]map[string]bool{}}
	v.enter("", ConversationStart{State: c.w.entry})
	for _, name := range c.order {
		v.IsIncomplete = v.IsIncomplete || c.isUnclear(name)
		for _, e := range c.readings[name].exits {
			switch {
			case e.Verb == Function && e.Backend+e.Model != "":
				v.enter("", ConversationStart{State: e.Target.State, Pos: e.Pos, From: name, Backend: e.Backend, Model: e.Model})
			case e.Verb == Function || e.Verb == Reset || e.Verb == Fork || e.OnExhausted:
				v.enter("", ConversationStart{State: e.Target.State})
			}
		}
	}
	return v
}

// enter notes that a state may start in a conversation that an agent CLI holds or, with "", in none:
// then one begins, of which b has what is named for it. What the state hands on starts too.
func (v *Conversations) enter(held string, b ConversationStart) {
	s, ok := v.chart.w.states[b.State]
	if !ok {
		return
	}
	after := held
	if s.Kind == Prompt {
		isOpen := IsOpen(b.Backend) || IsOpen(b.Model)
		b.Backend = cmp.Or(b.Backend, v.BackendOf(s.Name, held))
		switch {
		case held != "" && b.Backend != held:
			return // it can't start so
		case held == "" && !isOpen:
			v.begin(b)
		}
		if after = b.Backend; !IsBackend(after) {
			after = AnyBackend
		}
	}
	switch was := v.after[s.Name]; {
	case was[after]:
		return
	case was == nil:
		v.after[s.Name] = map[string]bool{}
	}
	v.after[s.Name][after] = true
	for _, e := range v.chart.readings[s.Name].exits {
		for _, to := range e.ContinuedStates() {
			v.enter(after, ConversationStart{State: to})
		}
	}
}

func (v *Conversations) begin(b ConversationStart) {
	b.Model = cmp.Or(b.Model, v.chart.w.states[b.State].Policy.Model)
	if b.Backend == v.run {
		b.Model = cmp.Or(b.Model, v.model)
	}
	if !slices.Contains(v.Starts, b) {
		v.Starts = append(v.Starts, b)
	}
}

// BackendOf is the agent CLI that runs a state in the conversation of another one, "" for
// none, unless a function tag decides: the one that the state names, or else that other one.
func (v *Conversations) BackendOf(name, held string) string {
	return cmp.Or(v.chart.w.states[name].Policy.Backend, held, v.run)
}

// BackendsAfter returns the agent CLIs that may hold the conversation when a state has ended, "" for none.
// Scripts leave it as it is.
func (v *Conversations) BackendsAfter(name string) map[string]bool { return v.after[name] }

// ContinuedStates returns the states that start in the conversation of the state with the exit,
// or in a branch of it.
func (e Exit) ContinuedStates() []string {
	var list []string
	switch {
	case e.Verb == Goto || e.Verb == Ask || e.Verb == Join:
		list = []string{e.Target.State}
	case e.Verb == Call:
		list = []string{e.Target.State, e.Next.State}
	case e.Verb == Function || e.Verb == Fork:
		list = []string{e.Next.State}
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" })
}
