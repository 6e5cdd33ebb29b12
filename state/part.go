package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// MaxParts is the maximum number of jobs in a matrix.
const MaxParts = 256

// maxEarlier is the maximum number of parts of earlier matrices that a run remembers.
const maxEarlier = 1024

// PartStart is the progress of a run when a part began. In the part's own run, everything with a larger
// number was created by the part itself.
type PartStart struct {
	Progress
	Ended int `json:"ended"` // number of results in Run.Ended at that time
}

// HandOver divides the agents that wait for a job into at most maxJobs parts of about equal size. These
// become the parts of the run. If job is "", HandOver takes the first job, in alphabetical order, for
// which agents wait. It leaves out agents that another job may be running.
func (s *Step) HandOver(job string, maxJobs int) {
	now := map[string]Handover{} // all agents that wait for a job, with their current numbers
	waiting := map[string][]Handover{}
	for a := range s.Agents() {
		if a.Status != Waiting || a.Waits.For != ForJob {
			continue
		}
		now[a.ID] = Handover{a.ID, a.Handovers}
		if !s.run.Parts.mayBeRunning(a.ID) {
			waiting[a.Waits.Job] = append(waiting[a.Waits.Job], now[a.ID])
		}
	}
	if job == "" && len(waiting) > 0 {
		job = slices.Min(slices.Collect(maps.Keys(waiting)))
	}
	packed := min(max(1, min(maxJobs, MaxParts)), len(waiting[job]))
	parts := make([]Part, packed)
	for i, a := range waiting[job] {
		parts[i%packed].Agents = append(parts[i%packed].Agents, a)
	}
	for i := range parts {
		parts[i].Job, parts[i].Name = job, partName(parts[i].Agents)
	}
	// Parts of earlier matrices remain, because a job may still run them, or run them again. In the latter
	// case, it runs the agents that still wait for a job, with their current numbers.
	for _, p := range s.run.Parts {
		if p.Earlier && !p.Running {
			var agents []Handover
			for _, a := range p.Agents {
				if h, ok := now[a.Agent]; ok {
					agents = append(agents, h)
				}
			}
			p.Agents, p.Name = agents, partName(agents)
		}
		if len(p.Agents) > 0 && (p.Earlier || p.Running) && len(parts)-packed < maxEarlier {
			parts = append(parts, p)
		}
	}
	seen := map[string]bool{}
	// If several parts have the same name, keep the first one.
	parts = slices.DeleteFunc(parts, func(p Part) bool {
		isDuplicate := seen[p.Name]
		seen[p.Name] = true
		return isDuplicate
	})
	s.delta.Parts = &parts
}

// Parts are the parts of a run: the parts of its current matrix, and parts of earlier matrices that may
// still run.
type Parts []Part

// mayBeRunning reports whether another job may be running the agent. If so, this process must not run
// it.
func (all Parts) mayBeRunning(agent string) bool {
	return slices.ContainsFunc(all, func(p Part) bool { return p.Running && p.isGiven(agent) })
}

// partName returns the name of the part with these agents: 8 hexadecimal digits of a hash of the
// agents and their numbers.
func partName(agents []Handover) string {
	sorted := slices.SortedFunc(slices.Values(agents), func(a, b Handover) int { return cmp.Compare(a.Agent, b.Agent) })
	text := ""
	for _, a := range sorted {
		text += fmt.Sprintf("%s %d\n", a.Agent, a.Number)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Matrix returns the parts that the last step handed over to the jobs of a matrix.
func (all Parts) Matrix() []Part {
	return slices.DeleteFunc(slices.Clone(all), func(p Part) bool { return p.Earlier || p.Running })
}

// Label returns a short text that describes a part: the names of its agents, or the first name and the
// number of the other agents.
func (p *Part) Label() string {
	if n := len(p.Agents); n > 3 {
		return fmt.Sprintf("%s and %d more", p.Agents[0].Agent, n-1)
	}
	var names []string
	for _, a := range p.Agents {
		names = append(names, a.Agent)
	}
	return strings.Join(names, ", ")
}

// NewPart returns the part with the named agents. It leaves out agents that do not wait for any of the
// jobs, so the part may be empty.
func NewPart(agents []*Agent, names, jobs []string) Part {
	var p Part
	for _, a := range agents {
		waits := a.Status == Waiting && a.Waits.For == ForJob && slices.Contains(jobs, a.Waits.Job)
		if waits && slices.Contains(names, a.ID) {
			p.Job = cmp.Or(p.Job, a.Waits.Job)
			p.Agents = append(p.Agents, Handover{a.ID, a.Handovers})
		}
	}
	p.Name = partName(p.Agents)
	return p
}

// NewRun returns the run with which a job runs the part p of r. It does not change r.
func (p Part) NewRun(r *Run) *Run {
	next := r.copied()
	p.Earlier, p.Running = false, false
	p.Start = &PartStart{Progress: r.Progress, Ended: len(r.Ended)}
	next.Parts = []Part{p}
	next.Mark = p.mark(r)
	return next
}

// mark returns the mark of the part's run. It differs from the marks of other parts: they may run on the
// same machine at the same time, and each of them must end only its own processes.
func (p *Part) mark(r *Run) string { return r.Mark + "p" + p.Name }

// BudgetShare returns the budget for the run of a part that begins now: the amount spent so far, plus a
// share of the rest of the budget. The share is proportional to the number of the part's agents
// among all agents that wait for its job. A budget of 0 means no budget, and the result is then 0, too.
func (p Part) BudgetShare(budget, spent USD, agents []*Agent) USD {
	if budget == 0 {
		return 0
	}
	all := max(1, count(slices.Values(agents), func(a *Agent) bool {
		return a.Status == Waiting && a.Waits.For == ForJob && a.Waits.Job == p.Job
	}))
	left, n := max(0, budget-spent), min(len(p.Agents), all)
	share := left/USD(all)*USD(n) + left%USD(all)*USD(n)/USD(all)
	return max(1, spent+share) // 0 would mean no budget
}

// OwnPart returns the part that this run executes. It returns false if this is not the run of a part.
func (all Parts) OwnPart() (Part, bool) {
	if len(all) == 1 && all[0].Start != nil {
		return all[0], true
	}
	return Part{}, false
}

// Validate returns a *FileError if this program could not have created the part.
func (p *Part) Validate() error {
	c := &checker{}
	eachField(reflect.ValueOf(p), "", "part", c.field)
	p.check(c, "part")
	return c.result()
}

// check reports the first problem in the agents and the name of the part to c. at is the path of the
// part.
func (p *Part) check(c *checker, at string) {
	c.want(len(p.Agents) > 0, at+".agents", "are missing")
	c.want(p.Name == partName(p.Agents), at+".name", "is %q, want %q for these agents", p.Name, partName(p.Agents))
}

// group is the set of agents that a step may change.
type group struct {
	part []string // ids of the agents that were handed over to a part of a matrix; nil for the whole run
	// created is the number of agents that existed when the part began. It is 0 outside the run of a part.
	created int
}

// has reports whether the step may change an agent. In a part, the agent must have been handed over to
// the part, or must descend from such agents and be newer than the part. Agents that were forked earlier
// may belong to another part.
func (g group) has(a *Agent) bool {
	return g.part == nil || slices.Contains(g.part, a.ID) ||
		a.N > g.created && slices.ContainsFunc(g.part, func(id string) bool { return isOf(a.ID, id) })
}

// Restrict limits the step to a part of a matrix: to the named agents and the agents that they fork. The
// step does not change other agents. If part is nil, the step is not limited.
func (s *Step) Restrict(part []string) {
	s.group = group{part: part}
	if own, ok := s.run.Parts.OwnPart(); ok {
		s.group.created = own.Start.Created
	}
}

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
	// Every agent was handed over to the part, or is a descendant that was forked in the part.
	for i, a := range run.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		if a.N > own.Start.Created {
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
	for i, e := range run.Ledger {
		c.want(e.N <= own.Start.Launches || p.MayContain(e.Agent), fmt.Sprintf("ledger[%d].agent", i), "%q does not belong to this part", e.Agent)
	}
	return c.result()
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
