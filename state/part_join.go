package state

import (
	"cmp"
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
	p := part.Part
	// given contains the agents that still wait for a job and have the number with which they were handed over.
	given := map[string]bool{}
	for _, h := range p.Agents {
		a, ok := m.Base.Agent(h.Agent)
		if ok && a.Status == Waiting && a.Waits.For == ForJob && a.Handovers == h.Number {
			given[h.Agent] = true
		}
	}
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
	c, last := &checker{}, own.Start.Events
	for i, e := range part.Events {
		at := fmt.Sprintf("events[%d]", i)
		c.want(e.Seq > last, at+".seq", "is %d, want more than %d", e.Seq, last)
		c.want(e.Agent == "" || p.MayContain(e.Agent), at+".agent", "%q does not belong to this part", e.Agent)
		last = e.Seq
	}
	if c.err != nil {
		return false, nil, c.err
	}
	o.add(part.Runs)
	return true, o.events(part.Events), nil
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

// partMerge merges one part into the run.
type partMerge struct {
	*merge
	from   *Run // the run of the part, as its job stored it
	start  *PartStart
	merged Progress // progress of the merged run before this part; the part's new numbers continue from there
	part   Part
	taken  map[string]bool // ids of the part's agents that Join takes from this part
}

// takes reports whether Join takes the agent id from this part. It does if id is in o.taken, or if the
// agent descends from an agent in o.taken and was created after the part began. n is the agent's creation
// number, which shows whether it was.
func (o *partMerge) takes(id string, n int) bool {
	for g := range o.taken {
		if id == g || n > o.start.Created && isOf(id, g) {
			return true
		}
	}
	return false
}

// agent returns a copy of an agent of the part, with the numbers that it gets in the merged run. If the
// agent failed in the part, the copy waits for its job again.
func (o *partMerge) agent(from *Agent) *Agent {
	a := new(*from)
	a.N = renumber(a.N, o.start.Created, o.merged.Created)
	if a.Exec != nil {
		a.Exec = new(*a.Exec)
		a.Exec.Iteration = renumber(a.Exec.Iteration, o.start.Iterations, o.merged.Iterations)
		if r := a.Exec.Running; r != nil {
			a.Exec.Running = new(*r)
			a.Exec.Running.N = renumber(r.N, o.start.Launches, o.merged.Launches)
		}
	}
	if q := a.openQuestion(); q != nil {
		a.Waits = new(*a.Waits)
		a.Waits.Question = new(*q)
		a.Waits.Question.Number = renumber(q.Number, o.start.Questions, o.merged.Questions)
	}
	if a.Status == Stuck {
		// The agent failed in the part. It waits for its job again, and that job begins the state anew.
		why := a.Failure.Message
		if a.Exec != nil {
			a.Cut, a.Exec = a.Exec.EntryLen, nil
		}
		a.Failure, a.NotBefore, a.Wait, a.Outage = nil, time.Time{}, 0, nil
		a.Status, a.Handovers = Waiting, a.Handovers+1
		a.Waits = &WaitCondition{For: ForJob, Since: stamp(o.Now), Job: cmp.Or(o.JobOf(a.State), o.part.Job), Error: why}
		o.waitEvents = append(o.waitEvents, Event{Time: stamp(o.Now), Agent: a.ID, State: a.State, Body: a.Waits.event()})
	}
	// If a job runs this part again later, that job has the agent's old number, so its work is not merged.
	if i := slices.IndexFunc(o.part.Agents, func(h Handover) bool { return h.Agent == a.ID }); i >= 0 {
		a.Handovers = max(a.Handovers, o.part.Agents[i].Number+1)
	}
	return a
}

// renumber converts a number in the part's run to a number in the merged run. A number that is not above
// began stays the same. Larger numbers were assigned in the part; began+1 becomes at+1, and so on.
func renumber(n, began, at int) int {
	if n > began {
		return n - began + at
	}
	return n
}

// add adds the work of the part to the merged run. The first one of runs is the run of the part; only the
// costs of the others count.
func (o *partMerge) add(runs []*Run) {
	// The agents that were handed over are replaced by the agents that remain at the end of the part's run,
	// including agents that were created in the part.
	o.run.Agents = slices.DeleteFunc(o.run.Agents, func(a *Agent) bool { return o.taken[a.ID] })
	for _, a := range o.from.Agents {
		if o.takes(a.ID, a.N) {
			o.run.Agents = append(o.run.Agents, o.agent(a))
		}
	}
	if o.taken[mainAgent] {
		o.run.Last = o.from.Last
	}
	// The first entries of Ended are older than the part, but joins in the part may have delivered them.
	var delivered []string
	for _, e := range o.from.Ended[:o.start.Ended] {
		if e.Delivered && o.part.MayContain(e.Agent) {
			delivered = append(delivered, e.Agent)
		}
	}
	o.run.Ended = markDelivered(o.run.Ended, delivered)
	for _, e := range o.from.Ended[o.start.Ended:] {
		if o.takes(e.Agent, e.N) {
			e.Dir, e.N = "", renumber(e.N, o.start.Created, o.merged.Created)
			o.run.Ended = append(o.run.Ended, e)
		}
	}
	known := map[entryKey]bool{}
	for i, run := range runs {
		part, _ := run.Parts.OwnPart()
		began, at, isNew := part.Start.Launches, o.run.Progress.Launches, i == 0
		for _, e := range run.Ledger {
			if e.N > began && !known[keyOf(e)] {
				isNew = true
				e.N = renumber(e.N, began, at)
				o.run.Ledger = append(o.run.Ledger, e)
			}
		}
		if isNew {
			o.run.Progress.Launches += run.Progress.Launches - began
		}
		for _, e := range run.Ledger {
			known[keyOf(e)] = true
		}
	}
	p, from := &o.run.Progress, &o.from.Progress
	p.Seq += from.Seq - o.start.Seq
	p.Iterations += from.Iterations - o.start.Iterations
	p.Created += from.Created - o.start.Created
	p.FlakeRetries += from.FlakeRetries - o.start.FlakeRetries
	p.Questions += from.Questions - o.start.Questions
	p.HasJoin = p.HasJoin || from.HasJoin
	p.Warned = p.Warned || from.Warned
	for _, name := range o.from.Used {
		if !slices.Contains(o.run.Used, name) {
			o.run.Used = append(o.run.Used, name)
		}
	}
}

// entryKey identifies an invocation in the ledgers of all jobs that ran a part.
type entryKey struct {
	n              int
	agent, session string
	cost           USD
	unpriced       int64
}

// keyOf returns the entryKey of a ledger entry.
func keyOf(e LedgerEntry) entryKey { return entryKey{e.N, e.Agent, e.Session, e.CostUSD, e.Unpriced} }

// events returns the part's events, with the numbers that they get in the merged run. own is the part's
// event log. events adds the events of the last saved step, which that log may lack, and leaves out
// events about agents that are not taken from the part.
func (o *partMerge) events(own []Event) []Event {
	var out []Event
	last := o.start.Events
	for _, e := range slices.Concat(own, o.from.Events) {
		if e.Seq <= last || e.Agent != "" && !o.takes(e.Agent, o.start.Created+1) {
			continue
		}
		last = e.Seq
		e.Exec = renumber(e.Exec, o.start.Iterations, o.merged.Iterations)
		if b, ok := e.Body.(*AgentWaits); ok {
			b = new(*b)
			b.Number = renumber(b.Number, o.start.Questions, o.merged.Questions)
			e.Body = b
		}
		out = append(out, e)
	}
	return out
}

// mergeEvents merges event logs by time. It keeps the order within each log. The first event gets the
// number last+1.
func mergeEvents(last int, logs [][]Event) []Event {
	var out []Event
	for {
		next := -1
		for i, log := range logs {
			if len(log) > 0 && (next < 0 || log[0].Time.Before(logs[next][0].Time)) {
				next = i
			}
		}
		if next < 0 {
			return out
		}
		e := logs[next][0]
		last++
		e.Seq = last
		out, logs[next] = append(out, e), logs[next][1:]
	}
}
