package protocol

import (
	"slices"
)

// Chart is what the files of a workflow say about where it may go.
type Chart struct {
	w        *Workflow
	readings map[string]*reading
	exits    map[string][]Exit
	reached  map[string]bool
	order    []string
}

// Chart reads all states of the workflow.
func (w *Workflow) Chart() *Chart {
	c := &Chart{w: w, readings: map[string]*reading{}, exits: map[string][]Exit{}, reached: map[string]bool{}}
	for name, s := range w.states {
		c.readings[name] = w.reading(s)
		c.exits[name] = c.readings[name].exits()
	}
	c.reach()
	return c
}

// States returns the states that the entry leads to, the entry first: by tags,
// by policies and, where only the run can tell, every file that is meant as a
// state. It has all of Reachable but files that document the workflow, and more.
func (c *Chart) States() []string { return slices.Clone(c.order) }

// Exits returns the ways on from a state in the order of its file: those that
// its text shows and its policy allows, then those that only the policy shows,
// then on_exhausted. A script may have others, which it makes at run time.
func (c *Chart) Exits(state string) []Exit { return slices.Clone(c.exits[state]) }

// IsOpaque reports whether a script shows no tag in its text, so that only the
// run can tell where it leads.
func (c *Chart) IsOpaque(state string) bool {
	d, ok := c.readings[state]
	return ok && d.s.Kind == Script && len(d.tags) == 0
}

func (c *Chart) reach() {
	anywhere := false
	for queue := []string{c.w.entry}; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if name == "" || c.reached[name] {
			continue
		}
		c.reached[name] = true
		c.order = append(c.order, name)
		queue = append(queue, c.named(name)...)
		if !anywhere && c.isUnclear(name) {
			anywhere = true
			queue = append(queue, slices.DeleteFunc(c.w.Names(), func(n string) bool { return !c.isMeant(n) })...)
		}
	}
}

// named returns the states that a state names anywhere.
func (c *Chart) named(name string) []string {
	var next []string
	for _, e := range c.exits[name] {
		next = append(next, e.Target.State, e.After.State)
	}
	for _, r := range c.w.states[name].References {
		meant, _ := candidates(c.w.catalog.byStem[Stem(r.Name)], r.Name, c.w.catalog.platform)
		next = append(next, meant...) // several when the name is ambiguous
	}
	return next
}

// isUnclear reports whether a state may lead to states that it does not name.
func (c *Chart) isUnclear(name string) bool {
	return c.IsOpaque(name) || slices.ContainsFunc(c.exits[name], func(e Exit) bool {
		return e.Target.Open || e.After.Open
	})
}

// documentation are names of files that talk about a workflow. They show tags
// without being states.
var documentation = pattern(
	`(?i)^(readme|changelog|contributing|licen[cs]e|notice|authors|security|todo|claude|agents|.*notes?)([ ._-].*)?$`)

// isMeant reports whether a file that nothing leads to is meant as a state.
func (c *Chart) isMeant(name string) bool {
	return c.w.catalog.runs(name) && c.w.states[name].Marked && !documentation().MatchString(Stem(name))
}
