package protocol

import (
	"slices"
	"strings"
)

// Chart is the graph of a workflow: it shows which states can follow each state, and by which
// transitions.
type Chart struct {
	w        *Workflow
	readings map[string]*Analysis
	order    []string
}

// Chart analyzes all states of the workflow, and returns the transitions between them.
func (w *Workflow) Chart() *Chart {
	c := &Chart{w: w, readings: map[string]*Analysis{}}
	for name, s := range w.states {
		c.readings[name] = w.analyze(s)
	}
	c.order = c.From(w.entry)
	return c
}

// From returns the given states and every state that can follow them, in breadth-first order. A
// state can be followed by the targets of its exits and by every state that its file names. If
// some targets of a state are unknown, any file that looks like a state can follow it.
func (c *Chart) From(states ...string) []string {
	var found []string
	seen := map[string]bool{"": true}
	for queue := slices.Clone(states); len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		found = append(found, name)
		for _, e := range c.readings[name].exits {
			queue = append(queue, e.Target.State, e.Next.State)
		}
		var named []string // the state names in the policy and the tags, as written
		for _, r := range c.w.states[name].References {
			named = append(named, r.Name)
		}
		for _, t := range c.w.states[name].tags {
			for _, ref := range t.StateRefs() {
				named = append(named, strings.TrimSpace(ref.State))
			}
		}
		for _, target := range named {
			files, _ := c.w.catalog.candidates(target) // several if the name is ambiguous
			queue = append(queue, files...)
		}
		if c.isUnclear(name) {
			queue = append(queue, c.w.meantAsStates...)
		}
	}
	return found
}

// States returns the states that can be reached from the workflow's first state (Workflow.Entry),
// which comes first in the list. If a target is known only when its state runs, all files that
// look like states are included.
func (c *Chart) States() []string { return slices.Clone(c.order) }

// Reaches reports whether a state can be reached from the workflow's first state.
func (c *Chart) Reaches(state string) bool { return slices.Contains(c.order, state) }

// Analysis returns the analysis of a state, or nil if the workflow doesn't contain the state.
func (c *Chart) Analysis(state string) *Analysis { return c.readings[state] }

// Exits returns the transitions that a state can end with: first the tags in its text that its
// policy allows, then transitions that only the policy names, then the transition that the key
// on_exhausted describes. A script may print other tags, which are known only when it runs. If the
// workflow doesn't contain the state, Exits returns nil.
func (c *Chart) Exits(state string) []Exit {
	if d, ok := c.readings[state]; ok {
		return slices.Clone(d.exits)
	}
	return nil
}

// IsOpaque reports whether a state is a script without a tag in its text, so that its targets
// are unknown before it runs.
func (c *Chart) IsOpaque(state string) bool {
	d, ok := c.readings[state]
	return ok && d.State.Kind == Script && len(d.Tags) == 0
}

// isUnclear reports whether a state may be followed by states that its file doesn't name.
func (c *Chart) isUnclear(name string) bool {
	if c.w.states[name].Policy.Transitions.Targets != nil {
		return false
	}
	return c.IsOpaque(name) || slices.ContainsFunc(c.readings[name].exits, func(e Exit) bool {
		return e.Target.Open || e.Next.Open
	})
}
