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

// maxEarlier is the maximum number of parts from earlier matrices that a run keeps.
const maxEarlier = 1024

// PartStart is the progress of a run when a part began. In the part's own run, larger
// numbers belong to the part.
type PartStart struct {
	Progress
	Ended int `json:"ended"` // number of results in Run.Ended at that time
}

// HandOver divides the agents that wait for a job into at most maxJobs parts of about equal size, and
// makes these the parts of the run. If job is "", it takes the first job in alphabetical order that
// agents wait for. It leaves out agents that another job may be running.
func (s *Step) HandOver(job string, maxJobs int) {
	now := map[string]Handover{} // all agents that wait for a job, with their present numbers
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
	parts := pack(job, waiting[job], maxJobs)
	packed := len(parts)
	for _, p := range s.run.Parts { // parts of earlier matrices, which a job may still run, or run again
		if p.Earlier && !p.Running {
			p = p.withCurrentAgents(now)
		}
		if len(p.Agents) > 0 && (p.Earlier || p.Running) && len(parts)-packed < maxEarlier {
			parts = append(parts, p)
		}
	}
	seen := map[string]bool{}
	parts = slices.DeleteFunc(parts, func(p Part) bool { // keep the first part of each name
		isDuplicate := seen[p.Name]
		seen[p.Name] = true
		return isDuplicate
	})
	s.delta.Parts = &parts
}

// withCurrentAgents returns the part reduced to the agents that still wait for a job, with their present
// numbers. A job of an earlier matrix that is run again runs these.
func (p Part) withCurrentAgents(now map[string]Handover) Part {
	var agents []Handover
	for _, a := range p.Agents {
		if h, ok := now[a.Agent]; ok {
			agents = append(agents, h)
		}
	}
	p.Agents, p.Name = agents, partName(agents)
	return p
}

// pack distributes agents evenly over at most maxParts parts.
func pack(job string, agents []Handover, maxParts int) []Part {
	n := min(max(1, min(maxParts, MaxParts)), len(agents))
	parts := make([]Part, n)
	for i, a := range agents {
		parts[i%n].Agents = append(parts[i%n].Agents, a)
	}
	for i := range parts {
		parts[i].Job, parts[i].Name = job, partName(parts[i].Agents)
	}
	return parts
}

// Parts are the parts of a run.
type Parts []Part

// mayBeRunning reports whether another job may be running the agent, so that this process must not.
func (all Parts) mayBeRunning(agent string) bool {
	return slices.ContainsFunc(all, func(p Part) bool { return p.Running && p.isGiven(agent) })
}

// partName returns the name of the part with these agents: 8 hex digits.
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

// Label returns a short text for a part: the names of its agents, or the first one and a count.
func (p *Part) Label() string {
	switch n := len(p.Agents); {
	case n <= 3:
		var names []string
		for _, a := range p.Agents {
			names = append(names, a.Agent)
		}
		return strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%s and %d more", p.Agents[0].Agent, n-1)
	}
}

// NewPart returns the part with the named agents, except agents that do not wait for any of the jobs. It
// may be empty.
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

// NewRun returns the run in which a job runs the part p of r.
func (p Part) NewRun(r *Run) *Run {
	next := r.copied()
	p.Earlier, p.Running = false, false
	p.Start = &PartStart{Progress: r.Progress, Ended: len(r.Ended)}
	next.Parts = []Part{p}
	next.Mark = p.mark(r)
	return next
}

// mark returns the mark of the part's run. Parts may run on one machine at the same time, and each
// must only end its own processes.
func (p *Part) mark(r *Run) string { return r.Mark + "p" + p.Name }

// BudgetShare returns the budget for the run of a part that begins: spent plus a share of the rest of
// budget, in proportion to the part's agents among all agents that wait for its job. It is 0 if budget
// is 0, which means no budget.
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

// OwnPart returns the part that this run runs, and false if the run is not the run of a part.
func (all Parts) OwnPart() (Part, bool) {
	if len(all) == 1 && all[0].Start != nil {
		return all[0], true
	}
	return Part{}, false
}

// check checks the parts of a run.
func (all Parts) check(c *checker) {
	c.want(len(all) <= MaxParts+maxEarlier, "parts", "are %d, want %d at most", len(all), MaxParts+maxEarlier)
	for i, p := range all {
		p.check(c, fmt.Sprintf("parts[%d]", i))
	}
}

// Validate returns nil for a part that this program could have created. Its error is a *FileError.
func (p *Part) Validate() error {
	c := &checker{}
	eachField(reflect.ValueOf(p), "", "part", c.field)
	p.check(c, "part")
	return c.result()
}

// check checks the agents and the name of the part.
func (p *Part) check(c *checker, at string) {
	c.want(len(p.Agents) > 0, at+".agents", "are missing")
	c.want(p.Name == partName(p.Agents), at+".name", "is %q, want %q for these agents", p.Name, partName(p.Agents))
}
