package protocol

import "cmp"

// Beginning is a way in which a conversation may begin at a prompt state, as far as the files
// show.
type Beginning struct {
	State   string
	Pos     Pos    // of the function that names Backend or Model, in the file From; else zero
	From    string // "" when it is the state itself that names them, or nobody
	Backend string // the agent CLI
	Model   string // "" when none is named
}

// Beginnings returns them for a run with an agent CLI and a model; "" is the default CLI, and
// no model. What is known only when the workflow runs is left out.
func (c *Chart) Beginnings(backend, model string) []Beginning {
	v := c.Conversations(backend)
	var list []Beginning
	for _, name := range c.order {
		st := c.w.states[name]
		if st.Kind != Prompt {
			continue
		}
		own := Beginning{State: name, Backend: v.BackendOf(name, ""), Model: st.Policy.Model}
		if name == c.w.entry || v.beginsPlainly(name) {
			list = append(list, own)
		}
		list = append(list, v.functions(own)...)
	}
	for i, b := range list {
		if b.Model == "" && b.Backend == v.run {
			list[i].Model = model
		}
	}
	return list
}

// beginsPlainly reports whether a transition begins a conversation at a state and names
// neither its agent CLI nor its model.
func (v *Conversations) beginsPlainly(name string) bool {
	for _, from := range v.chart.order {
		for _, e := range v.chart.exits[from] {
			names := e.Backend+e.Model != ""
			isNew := e.Verb == Reset || e.Verb == Fork || e.OnExhausted || e.Verb == Function && !names
			if isNew && e.Target.State == name {
				return true
			}
			for _, to := range e.Continued() {
				if to == name && v.After(from)[""] {
					return true
				}
			}
		}
	}
	return false
}

// functions returns the beginnings at a state for which the tag of a function names the
// agent CLI or the model. own is that of the state.
func (v *Conversations) functions(own Beginning) []Beginning {
	var list []Beginning
	for _, from := range v.chart.order {
		for _, e := range v.chart.exits[from] {
			if e.Verb != Function || e.Target.State != own.State || e.Backend+e.Model == "" || IsOpen(e.Backend) || IsOpen(e.Model) {
				continue
			}
			list = append(list, Beginning{State: own.State, Pos: e.Pos, From: from, Backend: cmp.Or(e.Backend, own.Backend), Model: cmp.Or(e.Model, own.Model)})
		}
	}
	return list
}
