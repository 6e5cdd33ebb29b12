package state

import (
	"fmt"
	"slices"
	"time"
)

// PartRun is a part of a matrix, and what its job has left of it.
type PartRun struct {
	Part Part
	// Running says that a job may still be running it: it is left alone.
	Running bool
	// Runs are the part's own runs. The first counts; of the others, of jobs that ran the
	// part once more, only what they cost. There is none when nothing was stored.
	Runs []*Run
	// Events is the log of the first one, from where the part began.
	Events []Event
}

// OwnRun returns the first run with the part's own agents alone.
func (r *PartRun) OwnRun() *Run {
	own := r.Runs[0].copied()
	own.Agents = slices.DeleteFunc(own.Agents, func(a *Agent) bool { return !r.Part.MayContain(a.ID) })
	return own
}

// PartJoin is what is merged into a run.
type PartJoin struct {
	Base  *Run
	Parts []PartRun // those of the run, in its order
	// JobOf returns the job of a state.
	JobOf func(state string) string
	Now   time.Time
}

// JoinedRun is a run into which its parts were merged.
type JoinedRun struct {
	Run    *Run
	Events []Event // that follow those of the run's log
	Merged []bool  // which of the parts were merged
}

// PartConflict says that two parts can't both be joined.
type PartConflict struct {
	Agent string // that both have
	what  string
}

// Error implements error.
func (e *PartConflict) Error() string { return "agent " + e.Agent + " " + e.what }

// Join returns the base with the work of its parts. Agents stand where their part has left
// them, and those of parts that have stored nothing where they were handed over. Agents
// that failed wait for their job again. An agent is taken only from a part to which it was
// handed over with the number that it still has, so that joining the same parts once more
// changes nothing. The base stays as it is.
//
// Errors are *PartConflict, and *FileError for runs that can't be of this run's parts.
func (j PartJoin) Join() (*JoinedRun, error) {
	m := &merge{PartJoin: j, run: j.Base.copied(), took: map[string]string{}}
	m.run.Parts = nil
	var logs [][]Event
	out := &JoinedRun{}
	for _, ran := range j.Parts {
		took, own, err := m.join(ran)
		if err != nil {
			return nil, err
		}
		logs, out.Merged = append(logs, own), append(out.Merged, took)
	}
	if err := m.finish(); err != nil {
		return nil, err
	}
	out.Run, out.Events = m.run, mergeEvents(j.Base.Progress.Events, logs)
	m.run.Progress.Events += len(out.Events)
	m.run.Events = m.told
	for i := range m.told {
		m.run.Progress.Events++
		m.told[i].Seq = m.run.Progress.Events
	}
	if m.told == nil && len(out.Events) > 0 {
		m.run.Events = out.Events[len(out.Events)-1:]
	}
	return out, m.run.Validate()
}

// merge is one call of Join.
type merge struct {
	PartJoin
	run  *Run
	took map[string]string // by agent, the part that has it
	told []Event           // agents that wait again
}

// join merges one part, if there is anything to merge, and returns the part's events.
func (m *merge) join(ran PartRun) (took bool, events []Event, err error) {
	p, given := ran.Part, ran.Part.given(m.Base)
	if len(given) == 0 {
		return false, nil, nil // it was joined before
	}
	p.Earlier, p.Running = !ran.Running, ran.Running
	m.run.Parts = append(m.run.Parts, p)
	if ran.Running || len(ran.Runs) == 0 {
		return false, nil, nil
	}
	for _, run := range ran.Runs {
		if err := ran.Part.Check(m.Base, run); err != nil {
			return false, nil, err
		}
	}
	for _, a := range ran.Part.Agents {
		other, twice := m.took[a.Agent]
		switch {
		case !given[a.Agent]:
		case twice:
			return false, nil, &PartConflict{a.Agent, fmt.Sprintf("was handed over once (number %d), and two parts have it: %s and %s", a.Number, other, p.Name)}
		default:
			m.took[a.Agent] = ran.Part.Name
		}
	}
	own, _ := ran.Runs[0].Parts.OwnPart()
	o := &partMerge{merge: m, from: ran.Runs[0], began: own.Start, at: m.run.Progress, part: ran.Part, given: given}
	if err := o.checkEvents(ran.Events); err != nil {
		return false, nil, err
	}
	o.addAgents()
	o.addEnded()
	o.addLedger(ran.Runs)
	o.addProgress()
	return true, o.events(ran.Events), nil
}

// given returns the agents that were handed over to the part with the numbers that they
// still have in r.
func (p *Part) given(r *Run) map[string]bool {
	given := map[string]bool{}
	for _, h := range p.Agents {
		a, ok := r.Agent(h.Agent)
		if ok && a.Status == Waiting && a.Waits.For == ForJob && a.Handovers == h.Number {
			given[h.Agent] = true
		}
	}
	return given
}

// finish numbers the agents of parts that have stored nothing anew, since a job that
// comes too late must not be taken for one that runs them now, and counts. Its error is a *PartConflict: names
// of states can be such that agents of two parents get one name.
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
			return &PartConflict{id, "is there twice: two agents were given one name in two jobs"}
		}
	}
	for _, p := range r.Parts {
		for _, h := range p.Agents {
			at := slices.IndexFunc(r.Agents, func(a *Agent) bool { return a.ID == h.Agent })
			if at < 0 || p.Running || m.took[h.Agent] != "" || r.Agents[at].Handovers != h.Number {
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
	r.Forgotten = p.Created - len(r.Agents) - len(r.Ended) // with those of a part that were not taken
	if len(r.Agents) == 0 {
		p.Status, p.Reason, p.Until = Completed, "", time.Time{}
	}
	r.fold()
	return nil
}
