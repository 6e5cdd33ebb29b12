package protocol

import (
	"cmp"
	"slices"
)

// Conversations lists how conversations may start, and which agent CLIs may hold an agent's
// conversation at each state. It contains only what the workflow's files show.
type Conversations struct {
	// Starts are the ways in which a conversation may start. A start whose agent CLI or model is
	// known only when the workflow runs is left out.
	Starts []ConversationStart
	// IsIncomplete is true if some state may be followed by states that its file doesn't name.
	// Then Starts may be incomplete too.
	IsIncomplete bool

	chart                *Chart
	runBackend, runModel string                     // the run's agent CLI and model
	after                map[string]map[string]bool // results of BackendsAfter, by state
}

// ConversationStart is a way in which a conversation may start at a prompt state.
type ConversationStart struct {
	State string
	// From and Pos are the file and the position of the function tag that names Backend or Model.
	// Both are empty if no function tag names them.
	Pos     Pos
	From    string
	Backend string
	Model   string // "" if neither the tag, the state nor the run names one
}

// AnyBackend is used in place of the name of an agent CLI that is known only when the workflow runs.
const AnyBackend = "*"

// Conversations returns the possible conversations of a run. The parameters are the agent CLI and
// the model that the run's options name. An empty agent CLI means DefaultBackend; an empty model
// means that the options name no model.
func (c *Chart) Conversations(run, model string) *Conversations {
	v := &Conversations{chart: c, runBackend: cmp.Or(run, DefaultBackend), runModel: model, after: map[string]map[string]bool{}}
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

// enter records that the state b.State may start. If holder is not empty, the state continues a
// conversation of the agent CLI holder. Otherwise it starts a new conversation with the agent CLI
// and the model that b names, and enter adds it to Starts. After that, enter follows the state's exits that continue the
// conversation, and records their targets.
func (v *Conversations) enter(holder string, b ConversationStart) {
	s, ok := v.chart.w.states[b.State]
	if !ok {
		return
	}
	after := holder
	if s.Kind == Prompt {
		isOpen := IsOpen(b.Backend) || IsOpen(b.Model)
		b.Backend = cmp.Or(b.Backend, v.BackendOf(s.Name, holder))
		switch {
		case holder != "" && b.Backend != holder:
			return // the state can't continue this conversation
		case holder == "" && !isOpen:
			b.Model = cmp.Or(b.Model, s.Policy.Model)
			if b.Backend == v.runBackend {
				b.Model = cmp.Or(b.Model, v.runModel) // the run's model is a model of the run's agent CLI only
			}
			if !slices.Contains(v.Starts, b) {
				v.Starts = append(v.Starts, b)
			}
		}
		if after = b.Backend; !IsBackend(after) {
			after = AnyBackend
		}
	}
	switch known := v.after[s.Name]; {
	case known[after]:
		return
	case known == nil:
		v.after[s.Name] = map[string]bool{}
	}
	v.after[s.Name][after] = true
	for _, e := range v.chart.readings[s.Name].exits {
		for _, to := range e.ContinuedStates() {
			v.enter(after, ConversationStart{State: to})
		}
	}
}

// BackendOf returns the agent CLI that runs a state: the agent CLI that the state's policy names, or
// else holder, or else the run's agent CLI. holder is the agent CLI that holds the conversation; it
// is empty if the state starts a new conversation. BackendOf ignores function tags, although they
// take precedence.
func (v *Conversations) BackendOf(name, holder string) string {
	return cmp.Or(v.chart.w.states[name].Policy.Backend, holder, v.runBackend)
}

// BackendsAfter returns the agent CLIs that may hold the conversation when a state has ended. If
// the map contains "", there may be no conversation. A script doesn't change the conversation.
func (v *Conversations) BackendsAfter(name string) map[string]bool { return v.after[name] }

// ContinuedStates returns the states that this exit starts in the conversation of the ending
// state, or in a branch of that conversation.
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
