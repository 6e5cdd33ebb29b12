package state

import (
	"cmp"
	"slices"
	"time"
)

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
	if o.taken[id] {
		return true
	}
	for g := range o.taken {
		if n > o.start.Created && isOf(id, g) {
			return true
		}
	}
	return false
}

// addAgents replaces the agents that were handed over by the agents that remain at the end of the part's
// run, including agents that were created in the part. It also takes the field Last from the part's run
// if the part contained main.
func (o *partMerge) addAgents() {
	o.run.Agents = slices.DeleteFunc(o.run.Agents, func(a *Agent) bool { return o.taken[a.ID] })
	for _, a := range o.from.Agents {
		if o.takes(a.ID, a.N) {
			o.run.Agents = append(o.run.Agents, o.agent(a))
		}
	}
	if o.taken[mainAgent] {
		o.run.Last = o.from.Last
	}
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

// addEnded adds the results of the agents that ended in the part. These are the entries that the part's
// run added to Ended. addEnded also marks the earlier results that joins in the part have delivered.
func (o *partMerge) addEnded() {
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
}

// addLedger adds the costs of the part, including the costs of further jobs that ran the part again.
func (o *partMerge) addLedger(runs []*Run) {
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

// addProgress adds the part's counts to the progress of the merged run.
func (o *partMerge) addProgress() {
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
