package state

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns a *FileError if run can't be the run of this part of r.
func (p *Part) Check(r, run *Run) error {
	c := &checker{}
	own, ok := run.Parts.OwnPart()
	c.want(ok, "parts", "does not contain exactly the part of this run")
	c.want(run.WorkflowID == r.WorkflowID, "workflow_id", "is %q, want %q", run.WorkflowID, r.WorkflowID)
	c.want(run.Mark == p.mark(r), "mark", "does not belong to this part of the run")
	c.want(own.Name == p.Name, "parts[0].name", "is %q, want %q", own.Name, p.Name)
	if c.err != nil {
		return c.err
	}
	c.want(own.Start.Ended <= len(run.Ended), "ended", "are %d, want at least %d", len(run.Ended), own.Start.Ended)
	p.checkAgents(c, r, run)
	for i, e := range run.Ledger {
		c.want(e.N <= own.Start.Launches || p.MayContain(e.Agent), fmt.Sprintf("ledger[%d].agent", i), "%q does not belong to this part", e.Agent)
	}
	return c.result()
}

// checkAgents checks that every agent in the part's run was handed over to the part, or is a descendant
// that was forked in the part.
func (p *Part) checkAgents(c *checker, r, run *Run) {
	created := run.Parts[0].Start.Created
	for i, a := range run.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		if a.N > created {
			c.want(p.MayContain(a.ID) && p.MayContain(a.Parent) && !p.isGiven(a.ID), at+".id", "%q does not belong to this part", a.ID)
		} else if was, ok := r.Agent(a.ID); p.isGiven(a.ID) && ok {
			c.want(a.N == was.N && a.Parent == was.Parent, at+".n", "is %d with parent %q, want %d and %q", a.N, a.Parent, was.N, was.Parent)
		}
	}
	for _, h := range p.Agents {
		there := slices.ContainsFunc(run.Agents, func(a *Agent) bool { return a.ID == h.Agent }) ||
			slices.ContainsFunc(run.Ended, func(e Ending) bool { return e.Agent == h.Agent })
		c.want(there, "agents", "lack %q", h.Agent)
	}
}

// isGiven reports whether an agent was handed over to the part.
func (p *Part) isGiven(id string) bool {
	return slices.ContainsFunc(p.Agents, func(h Handover) bool { return h.Agent == id })
}

// MayContain reports whether an agent can belong to the part. It can if it was handed over, or if its
// name shows that it descends from an agent that was handed over.
func (p *Part) MayContain(id string) bool {
	return slices.ContainsFunc(p.Agents, func(h Handover) bool { return isOf(id, h.Agent) })
}

// isOf reports whether id is the name of the agent ancestor or of one of its descendants.
func isOf(id, ancestor string) bool { return id == ancestor || strings.HasPrefix(id, ancestor+"_") }
