package state

import (
	"fmt"
	"slices"
	"time"
)

// PartRun is a part of a matrix, together with the runs that its jobs have stored.
type PartRun struct {
	Part Part
	// Running is set if a job may still be running the part. The part is then not merged.
	Running bool
	// Runs are the stored runs of the part. The first one is merged. The others come from jobs
	// that ran the part again; only their cost counts. Runs is empty if no job stored anything.
	Runs []*Run
	// Events is the event log of the first run, from the start of the part.
	Events []Event
}

// OwnRun returns a copy of the first run that contains only the agents of the part.
func (r *PartRun) OwnRun() *Run {
	own := r.Runs[0].copied()
	own.Agents = slices.DeleteFunc(own.Agents, func(a *Agent) bool { return !r.Part.MayContain(a.ID) })
	return own
}

// PartJoin is the input for merging parts into their run.
type PartJoin struct {
	Base  *Run
	Parts []PartRun // all parts of the run, in the same order as in Base.Parts
	// JobOf returns the name of the job that runs a state.
	JobOf func(state string) string
	Now   time.Time
}

// JoinedRun is the result of a merge.
type JoinedRun struct {
	Run    *Run
	Events []Event // events of the parts; they follow the event log of the base
	Merged []bool  // for each part, whether it was merged
}

// PartConflict is the error if two parts can't both be merged.
type PartConflict struct {
	Agent  string // the agent that both parts contain
	reason string
}

// Error implements error.
func (e *PartConflict) Error() string { return "agent " + e.Agent + " " + e.reason }

// Join returns the base with the work of its parts merged into it. It does not change the base. Agents
// are in the state in which their part left them. Agents of parts that stored nothing still wait for
// their job, and agents that failed wait for their job again. Join takes an agent from a part only if
// the agent still has the number with which it was handed over. Merging the same parts again therefore
// changes nothing.
//
// The error is a *PartConflict, or a *FileError if a run can't belong to a part of the base.
func (j PartJoin) Join() (*JoinedRun, error) {
	m := &merge{PartJoin: j, run: j.Base.copied(), takenFrom: map[string]string{}}
	m.run.Parts = nil
	var logs [][]Event
	out := &JoinedRun{}
	for _, run := range j.Parts {
		merged, own, err := m.join(run)
		if err != nil {
			return nil, err
		}
		logs, out.Merged = append(logs, own), append(out.Merged, merged)
	}
	if err := m.finish(); err != nil {
		return nil, err
	}
	out.Run, out.Events = m.run, mergeEvents(j.Base.Progress.Events, logs)
	m.run.Progress.Events += len(out.Events)
	m.run.Events = m.waitEvents
	for i := range m.waitEvents {
		m.run.Progress.Events++
		m.waitEvents[i].Seq = m.run.Progress.Events
	}
	if m.waitEvents == nil && len(out.Events) > 0 {
		m.run.Events = out.Events[len(out.Events)-1:]
	}
	return out, m.run.Validate()
}

// merge is the state of one call to Join.
type merge struct {
	PartJoin
	run        *Run
	takenFrom  map[string]string // for each agent, the name of the part from which it was taken
	waitEvents []Event           // events about agents that wait for their job again
}

// join merges one part and returns the part's events. It returns false if there is nothing to merge.
func (m *merge) join(part PartRun) (merged bool, events []Event, err error) {
	p, given := part.Part, part.Part.stillWaiting(m.Base)
	if len(given) == 0 {
		return false, nil, nil // the part has been merged before
	}
	p.Earlier, p.Running = !part.Running, part.Running
	m.run.Parts = append(m.run.Parts, p)
	if part.Running || len(part.Runs) == 0 {
		return false, nil, nil
	}
	for _, run := range part.Runs {
		if err := part.Part.Check(m.Base, run); err != nil {
			return false, nil, err
		}
	}
	for _, a := range part.Part.Agents {
		other, twice := m.takenFrom[a.Agent]
		switch {
		case !given[a.Agent]:
		case twice:
			return false, nil, &PartConflict{a.Agent, fmt.Sprintf("was handed over once (number %d), but two parts contain it: %s and %s", a.Number, other, p.Name)}
		default:
			m.takenFrom[a.Agent] = part.Part.Name
		}
	}
	own, _ := part.Runs[0].Parts.OwnPart()
	o := &partMerge{merge: m, from: part.Runs[0], start: own.Start, merged: m.run.Progress, part: part.Part, taken: given}
	if err := o.checkEvents(part.Events); err != nil {
		return false, nil, err
	}
	o.addAgents()
	o.addEnded()
	o.addLedger(part.Runs)
	o.addProgress()
	return true, o.events(part.Events), nil
}

// stillWaiting returns the agents of the part that, in r, still wait for a job and have the number with
// which they were handed over.
func (p *Part) stillWaiting(r *Run) map[string]bool {
	given := map[string]bool{}
	for _, h := range p.Agents {
		a, ok := r.Agent(h.Agent)
		if ok && a.Status == Waiting && a.Waits.For == ForJob && a.Handovers == h.Number {
			given[h.Agent] = true
		}
	}
	return given
}

// finish computes the totals of the merged run. It increases the handover number of the agents of parts
// that stored nothing, so that work that their job stores later is not merged. finish returns a
// *PartConflict if two agents have the same name, which can happen because an agent's name is made of its
// parent's name and the beginning of a state's name.
func (m *merge) finish() error {
	r, names := m.run, map[string]int{}
	for _, a := range r.Agents {
		names[a.ID]++
	}
	for _, e := range r.Ended {
		names[e.Agent]++
	}
	for id, n := range names {
		if n > 1 {
			return &PartConflict{id, "exists twice: two jobs gave two agents the same name"}
		}
	}
	for _, p := range r.Parts {
		for _, h := range p.Agents {
			at := slices.IndexFunc(r.Agents, func(a *Agent) bool { return a.ID == h.Agent })
			if at < 0 || p.Running || m.takenFrom[h.Agent] != "" || r.Agents[at].Handovers != h.Number {
				continue
			}
			a := *r.Agents[at]
			a.Handovers++
			r.Agents[at] = &a
		}
	}
	slices.SortFunc(r.Agents, func(a, b *Agent) int { return a.N - b.N })
	p := &r.Progress
	p.TotalUSD = 0
	for _, e := range r.Ledger {
		p.TotalUSD = p.TotalUSD.Plus(e.CostUSD)
	}
	r.Forgotten = p.Created - len(r.Agents) - len(r.Ended) // this includes agents of a part that were not taken
	if len(r.Agents) == 0 {
		p.Status, p.Reason, p.Until = Completed, "", time.Time{}
	}
	r.dropOldEndings()
	return nil
}
