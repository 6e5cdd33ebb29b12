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
	parts := pack(job, waiting[job], maxJobs)
	packed := len(parts)
	// Parts of earlier matrices remain, because a job may still run them, or run them again.
	for _, p := range s.run.Parts {
		if p.Earlier && !p.Running {
			p = p.withCurrentAgents(now)
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

// withCurrentAgents returns the part without the agents that no longer wait for a job, and gives the other
// agents their current numbers. If a job of an earlier matrix is run again, it runs these other agents.
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

// pack distributes the agents evenly over at most maxParts parts for the job.
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

// check reports the first problem in the parts of a run to c.
func (all Parts) check(c *checker) {
	c.want(len(all) <= MaxParts+maxEarlier, "parts", "are %d, want %d at most", len(all), MaxParts+maxEarlier)
	for i, p := range all {
		p.check(c, fmt.Sprintf("parts[%d]", i))
	}
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
