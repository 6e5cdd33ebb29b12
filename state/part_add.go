package state

import (
	"cmp"
	"slices"
	"time"
)

// partMerge is the merge of one part.
type partMerge struct {
	*merge
	from  *Run // the part's own
	began *PartStart
	at    Progress // of the run when the part's numbers follow its own
	part  Part
	given map[string]bool // agents that are taken
}

// takes reports whether an agent comes from this part: it was handed over to it, or its
// number says that it was created there.
func (o *partMerge) takes(id string, n int) bool {
	if o.given[id] {
		return true
	}
	for g := range o.given {
		if n > o.began.Created && isOf(id, g) {
			return true
		}
	}
	return false
}

// addAgents puts the part's agents in the place of those that were handed over, and adds
// those that were created in it.
func (o *partMerge) addAgents() {
	o.run.Agents = slices.DeleteFunc(o.run.Agents, func(a *Agent) bool { return o.given[a.ID] })
	for _, a := range o.from.Agents {
		if o.takes(a.ID, a.N) {
			o.run.Agents = append(o.run.Agents, o.agent(a))
		}
	}
	if o.given[mainAgent] {
		o.run.Last = o.from.Last
	}
}

// agent returns an agent of the part as the run has it from now on.
func (o *partMerge) agent(from *Agent) *Agent {
	a := new(*from)
	a.N = after(a.N, o.began.Created, o.at.Created)
	if a.Exec != nil {
		a.Exec = new(*a.Exec)
		a.Exec.Iteration = after(a.Exec.Iteration, o.began.Iterations, o.at.Iterations)
		if r := a.Exec.Running; r != nil {
			a.Exec.Running = new(*r)
			a.Exec.Running.N = after(r.N, o.began.Launches, o.at.Launches)
		}
	}
	if q := a.asks(); q != nil {
		a.Waits = new(*a.Waits)
		a.Waits.Question = new(*q)
		a.Waits.Question.Number = after(q.Number, o.began.Questions, o.at.Questions)
	}
	if a.Status == Stuck {
		// It failed in the part, so it waits for the job again, which begins its state anew.
		why := a.Failure.Message
		if a.Exec != nil {
			a.Cut, a.Exec = a.Exec.EntryLen, nil
		}
		a.Failure, a.NotBefore, a.Wait, a.Outage = nil, time.Time{}, 0, nil
		a.Status, a.Handovers = Waiting, a.Handovers+1
		a.Waits = &WaitCondition{For: ForJob, Since: stamp(o.Now), Job: cmp.Or(o.JobOf(a.State), o.part.Job), Error: why}
		o.told = append(o.told, Event{Time: stamp(o.Now), Agent: a.ID, State: a.State, Body: a.Waits.event()})
	}
	// Whoever runs the part too late must not be taken for one that runs it now.
	if i := slices.IndexFunc(o.part.Agents, func(h Handover) bool { return h.Agent == a.ID }); i >= 0 {
		a.Handovers = max(a.Handovers, o.part.Agents[i].Number+1)
	}
	return a
}

// after moves a number of the part's own, which began to count at one number, behind those of the run.
func after(n, began, at int) int {
	if n > began {
		return n - began + at
	}
	return n
}

// addEnded adds the agents that ended in the part. They are its last ones.
func (o *partMerge) addEnded() {
	var delivered []string
	for _, e := range o.from.Ended[:o.began.Ended] {
		if e.Delivered && o.part.MayContain(e.Agent) {
			delivered = append(delivered, e.Agent)
		}
	}
	o.run.Ended = markDelivered(o.run.Ended, delivered)
	for _, e := range o.from.Ended[o.began.Ended:] {
		if o.takes(e.Agent, e.N) {
			e.Dir, e.N = "", after(e.N, o.began.Created, o.at.Created)
			o.run.Ended = append(o.run.Ended, e)
		}
	}
}

// addLedger adds what the part has cost, and what jobs have spent that ran it once more.
func (o *partMerge) addLedger(runs []*Run) {
	known := map[entryKey]bool{}
	for i, run := range runs {
		part, _ := run.Parts.OwnPart()
		began, at, isNew := part.Start.Launches, o.run.Progress.Launches, i == 0
		for _, e := range run.Ledger {
			if e.N > began && !known[keyOf(e)] {
				isNew = true
				e.N = after(e.N, began, at)
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
}

// entryKey tells the invocations of a part from those of another job that ran it.
type entryKey struct {
	n              int
	agent, session string
	cost           USD
	unpriced       int64
}

func keyOf(e LedgerEntry) entryKey { return entryKey{e.N, e.Agent, e.Session, e.CostUSD, e.Unpriced} }

// addProgress counts what was done in the part.
func (o *partMerge) addProgress() {
	p, from := &o.run.Progress, &o.from.Progress
	p.Seq += from.Seq - o.began.Seq
	p.Iterations += from.Iterations - o.began.Iterations
	p.Created += from.Created - o.began.Created
	p.FlakeRetries += from.FlakeRetries - o.began.FlakeRetries
	p.Questions += from.Questions - o.began.Questions
	p.HasJoin = p.HasJoin || from.HasJoin
	p.Warned = p.Warned || from.Warned
	for _, name := range o.from.Used {
		if !slices.Contains(o.run.Used, name) {
			o.run.Used = append(o.run.Used, name)
		}
	}
}
