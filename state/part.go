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

// MaxParts is how many jobs a matrix has at most.
const MaxParts = 256

// mostEarlier is how many parts of earlier matrices are kept.
const mostEarlier = 1024

// PartStart is how far a run had come when a part of it began: what comes after it in the
// part's own run is the part's own.
type PartStart struct {
	Progress
	Ended int `json:"ended"` // agents that had ended, and whose results were kept
}

// HandOver packs the agents that wait for a job into at most so many parts of a matrix,
// all of about the same size, and makes them the parts of the run. Without a name it is the
// first of the jobs that are waited for. Agents that another job may be running are in none
// of the parts.
func (s *Step) HandOver(job string, most int) {
	now := map[string]Handover{} // agents that wait for a job, as they stand
	waiting := map[string][]Handover{}
	for a := range s.Agents() {
		if a.Status != Waiting || a.Waits.For != ForJob {
			continue
		}
		now[a.ID] = Handover{a.ID, a.Handovers}
		if !s.run.Parts.hold(a.ID) {
			waiting[a.Waits.Job] = append(waiting[a.Waits.Job], now[a.ID])
		}
	}
	if job == "" && len(waiting) > 0 {
		job = slices.Min(slices.Collect(maps.Keys(waiting)))
	}
	parts := pack(job, waiting[job], most)
	packed := len(parts)
	for _, p := range s.run.Parts { // those of earlier matrices that a job may still run, or run again
		if p.Earlier && !p.Running {
			p = p.standing(now)
		}
		if len(p.Agents) > 0 && (p.Earlier || p.Running) && len(parts)-packed < mostEarlier {
			parts = append(parts, p)
		}
	}
	seen := map[string]bool{}
	parts = slices.DeleteFunc(parts, func(p Part) bool { // of a name that there was before
		was := seen[p.Name]
		seen[p.Name] = true
		return was
	})
	s.delta.Parts = &parts
}

// standing returns the part with those of its agents that wait for a job, and their present
// numbers: when a job of an earlier matrix is run again, it is what is left for it.
func (p Part) standing(now map[string]Handover) Part {
	var agents []Handover
	for _, a := range p.Agents {
		if h, ok := now[a.Agent]; ok {
			agents = append(agents, h)
		}
	}
	p.Agents, p.Name = agents, partName(agents)
	return p
}

// pack deals agents out to parts, one after the other.
func pack(job string, agents []Handover, most int) []Part {
	n := min(max(1, min(most, MaxParts)), len(agents))
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

// hold reports whether another job may be running an agent, so that nobody else does.
func (all Parts) hold(agent string) bool {
	return slices.ContainsFunc(all, func(p Part) bool { return p.Running && p.isGiven(agent) })
}

// partName is the name of the part that has these agents: 8 hex digits.
func partName(agents []Handover) string {
	sorted := slices.SortedFunc(slices.Values(agents), func(a, b Handover) int { return cmp.Compare(a.Agent, b.Agent) })
	text := ""
	for _, a := range sorted {
		text += fmt.Sprintf("%s %d\n", a.Agent, a.Number)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Matrix returns the parts that the last step handed over, for the jobs of a matrix.
func (all Parts) Matrix() []Part {
	return slices.DeleteFunc(slices.Clone(all), func(p Part) bool { return p.Earlier || p.Running })
}

// Label names a part for people: its agents, or the first of many.
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

// NewPart returns the part of those of the named agents that wait for one of the jobs; it
// has no agents when none does.
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

// NewRun returns the run with which the part of r begins.
func (p Part) NewRun(r *Run) *Run {
	next := r.copied()
	p.Earlier, p.Running = false, false
	p.Start = &PartStart{Progress: r.Progress, Ended: len(r.Ended)}
	next.Parts = []Part{p}
	next.Mark = p.mark(r)
	return next
}

// mark is the mark of the run of this part. Parts may run on one machine at the same time,
// where each ends what it has started itself.
func (p *Part) mark(r *Run) string { return r.Mark + "p" + p.Name }

// BudgetShare returns the budget of the run of a part that begins: what is spent, and of what is
// left of budget as much as the part has of the agents that wait for its job. It is 0
// where budget is, which is none.
func (p Part) BudgetShare(budget, spent USD, agents []*Agent) USD {
	if budget == 0 {
		return 0
	}
	all := max(1, count(slices.Values(agents), func(a *Agent) bool {
		return a.Status == Waiting && a.Waits.For == ForJob && a.Waits.Job == p.Job
	}))
	left, n := max(0, budget-spent), min(len(p.Agents), all)
	share := left/USD(all)*USD(n) + left%USD(all)*USD(n)/USD(all)
	return max(1, spent+share) // 0 would be none
}

// OwnPart returns the part of which these are the parts of the run, and false for the run of no
// part.
func (all Parts) OwnPart() (Part, bool) {
	if len(all) == 1 && all[0].Start != nil {
		return all[0], true
	}
	return Part{}, false
}

// check checks the parts of a run.
func (all Parts) check(c *checker) {
	c.want(len(all) <= MaxParts+mostEarlier, "parts", "are %d, want %d at most", len(all), MaxParts+mostEarlier)
	for i, p := range all {
		p.check(c, fmt.Sprintf("parts[%d]", i))
	}
}

// Validate returns nil for a part that this program could have named. Its error is a
// *FileError.
func (p *Part) Validate() error {
	c := &checker{}
	eachField(reflect.ValueOf(p), "", "part", c.field)
	p.check(c, "part")
	return c.result()
}

func (p *Part) check(c *checker, at string) {
	c.want(len(p.Agents) > 0, at+".agents", "are missing")
	c.want(p.Name == partName(p.Agents), at+".name", "is %q, want %q for these agents", p.Name, partName(p.Agents))
}
