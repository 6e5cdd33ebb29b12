package protocol

import (
	"cmp"
	"slices"
)

// Conversations records which agent CLIs may hold the conversation of an agent at each state, as
// far as the files show.
type Conversations struct {
	// Starts are the ways in which a conversation may start. Starts with an agent CLI or a model
	// that is known only when the workflow runs are left out.
	Starts []ConversationStart
	// IsIncomplete is true if a state may lead to states that it does not name.
	IsIncomplete bool

	chart                *Chart
	runBackend, runModel string                     // the agent CLI of the run, and its model
	after                map[string]map[string]bool // result of BackendsAfter, by state
}

// ConversationStart is a way in which a conversation may start at a prompt state.
type ConversationStart struct {
	State   string
	Pos     Pos    // of the function tag that names Backend or Model, in the file From; else zero
	From    string // file of that function tag; "" if the state or the run decides
	Backend string // the agent CLI
	Model   string // "" if not named
}

// AnyBackend means an agent CLI that is known only when the workflow runs.
const AnyBackend = "*"

// Conversations returns the possible conversations of a run with an agent CLI and a model. An
// empty run means the default CLI, an empty model means that the run names no model.
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

// enter records that a state may start in a conversation of the agent CLI holder. An empty
// holder starts a new conversation with the backend and model of b. Then enter follows the exits
// that continue the conversation.
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
			v.begin(b)
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

// begin adds a start of a conversation. The default model is the state's, then the run's.
func (v *Conversations) begin(b ConversationStart) {
	b.Model = cmp.Or(b.Model, v.chart.w.states[b.State].Policy.Model)
	if b.Backend == v.runBackend {
		b.Model = cmp.Or(b.Model, v.runModel)
	}
	if !slices.Contains(v.Starts, b) {
		v.Starts = append(v.Starts, b)
	}
}

// BackendOf returns the agent CLI that runs a state in a conversation of the agent CLI holder, ""
// for a new conversation: the state's own, else holder, else the run's. It ignores function tags,
// which take precedence.
func (v *Conversations) BackendOf(name, holder string) string {
	return cmp.Or(v.chart.w.states[name].Policy.Backend, holder, v.runBackend)
}

// BackendsAfter returns the agent CLIs that may hold the conversation when a state has ended; ""
// means no conversation. A script does not change the conversation.
func (v *Conversations) BackendsAfter(name string) map[string]bool { return v.after[name] }

// ContinuedStates returns the states that this exit starts in the conversation of the state that
// ends, or in a branch of it.
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
